"""The terminal UI. It knows the core only through `Assistant` and its events.

The assistant works on worker threads that only post messages; the handlers here and of the screens own the state.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.actions import parse
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from atomr_local.errors import AtomrError
from atomr_local.indexing.store import KINDS
from atomr_local.sources.registry import SOURCES, SourceType, all_sources
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.background import in_background, internal_error
from atomr_local.tui.colours import ReadableColours, choose, register
from atomr_local.tui.idle_embedding import ALL, LOOK_EVERY, IdleEmbedding, lacking_vectors
from atomr_local.tui.jobs import Job, Jobs, JobState
from atomr_local.tui.keys import current_keys
from atomr_local.tui.screens.ask.screen import BUSY, GROUPS, AskScreen
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.status_line import SourceSwitches

if TYPE_CHECKING:
    from textual.filter import LineFilter
    from textual.screen import Screen

    from atomr_local.assistant.assistant import Assistant
    from atomr_local.indexing.store import IndexKind
    from atomr_local.settings.schema import Settings
    from atomr_local.tui.screens.library.screen import LibraryScreen
    from atomr_local.tui.widgets.welcome import FirstRunChoices


# How the program comes up: the assistant is opened and loaded behind the first frame.

_NOTICE = 20.0  # seconds that a notice about the settings stays
_MOST_SHOWN = 3  # wrong entries told in one notice


class Startup:
    """Opens what the app needs, loads it, and tells what cannot be opened or does nothing."""

    def __init__(self, app: AtomrApp, given: Assistant | Callable[[], Assistant]) -> None:
        self._app, self._given = app, given

    def open(self) -> None:
        """Open the assistant on a thread, where it is not there already."""
        if callable(self._given):
            in_background(self._app, self._given, self._opened, failed=self._not_ready, group="open")
        else:
            self._opened(self._given)

    def _opened(self, assistant: Assistant) -> None:
        app, ui = self._app, assistant.settings.ui
        app.use_assistant(assistant)
        app.call_after_refresh(self.load)
        in_background(app, all_sources, app.use_sources, group="sources")
        if ui.keys:
            from atomr_local.tui.keys import wrong_keys

            in_background(app, partial(wrong_keys, ui.keys), self._warn_of_wrong_keys, group="keys")
        if not ui.first_run_done:
            in_background(app, partial(_is_first_run, assistant.settings), self._offer_first_run, group="look")

    def load(self, *, again: bool = False) -> None:
        """Load the model and the indexes; `again`: others than before."""
        app = self._app
        if again:
            app.ask_screen.show_loading("loading")

        def show(stage: str) -> None:
            app.call_later(app.ask_screen.show_loading, stage)

        def work() -> None:
            if again:  # what the change of the settings let go is collected
                gc.unfreeze()
                gc.collect()
            app.assistant.preload(show)
            gc.freeze()  # looking through all that is there by now would hold up a frame for a tenth of a second

        def loaded(_: None) -> None:
            app.ask_screen.show_loading("")
            # What fails there is told when a question is asked.
            made = app.assistant.example_questions
            in_background(app, made, app.ask_screen.welcome.offer, failed=lambda _: None, group="made")

        in_background(app, work, loaded, failed=self._not_ready, group="load")

    def _not_ready(self, error: AtomrError) -> None:
        self._app.ask_screen.show_loading("not ready")
        self._app.show_error(error)

    def _warn_of_wrong_keys(self, problems: Sequence[str]) -> None:
        from atomr_local.system.sanitize import sanitize_line

        if not problems:
            return
        lines = [sanitize_line(problem) for problem in problems[:_MOST_SHOWN]]
        if len(problems) > _MOST_SHOWN:
            lines.append(f"… and {len(problems) - _MOST_SHOWN} more")
        lines.append("Correct ui.keys in the settings (F4); F1 shows the keys.")
        self._app.notify("\n".join(lines), title="Your own keys", severity="warning", timeout=_NOTICE, markup=False)

    def _offer_first_run(self, first_run: bool) -> None:
        if first_run:
            self._app.offer_first_run()


def _is_first_run(settings: Settings) -> bool:
    with suppress(AtomrError, OSError):
        return only_the_starter(settings)
    return False


def only_the_starter(settings: Settings) -> bool:
    """Whether no model and no index of the user's own is available or chosen. It reads the disk."""
    from atomr_local.indexing.store import STARTER, list_indexes
    from atomr_local.system import paths

    chosen = (settings.model, settings.text_index or STARTER, settings.graph_index or STARTER)
    if set(chosen) != {STARTER} or settings.endpoint.url:
        return False
    if any(paths.models_dir().glob("*.gguf")):  # reading them would hold up the first frames
        return False
    return all(entry.name == STARTER for entry in list_indexes())


# Indexes that are removed and built while the program runs: their source goes off, and on again.


class IndexChanges:
    """Follows the jobs that change indexes."""

    def __init__(self, app: AtomrApp, load: Callable[[], object]) -> None:
        """Follow them; `load` loads what has changed."""
        self._app, self._load = app, load
        self._off: set[str] = set()  # sources that went off with their index

    def job_ended(self, job: Job) -> None:
        """Look whether the index in use is still there, once such a job is done."""
        if job.state is not JobState.DONE or "--unfinished" in job.arguments:
            return
        match job.arguments:
            case ("indexes", "remove", "text" | "graph" as kind, *_) | (
                "text" | "graph" as kind,
                "build" | "sync",
                *_,
            ):
                self._look(kind)
            case ("indexes", "import", *_):
                for one in KINDS:
                    self._look(one)

    def _look(self, kind: IndexKind) -> None:
        settings = self._app.assistant.settings
        chosen = settings.text_index if kind == "text" else settings.graph_index
        in_background(self._app, partial(_problem, kind, chosen), partial(self._looked, kind), group="indexes")

    def _looked(self, kind: IndexKind, problem: str) -> None:
        app, label = self._app, SOURCES[kind].label
        sources = app.assistant.settings.sources
        if problem:
            left = tuple(name for name in sources if name != kind)
            if kind not in sources or not (left or app.assistant.web_enabled):
                return
            told = f"{label} is off: {problem}. It comes back when the index is built again."
            self._change(left, told)
            self._off.add(kind)
        elif kind in self._off:
            self._off.discard(kind)
            if kind not in sources:
                order = dict.fromkeys((*SOURCES, *sources))  # those of other packages too
                self._change(tuple(name for name in order if name == kind or name in sources), f"{label} is on again.")
        elif kind in sources and not app.ask_screen.state.running:
            self._load()  # another index of the kind may be the one in use now

    def _change(self, sources: tuple[str, ...], told: str) -> None:
        """Not remembered: the setting is what the user chose."""
        app = self._app
        try:
            app.assistant.reconfigure(sources=sources)
        except AtomrError:  # a question runs; the next one leaves the source out, and says so
            app.ask_screen.show_notice(told)
            return
        app.ask_screen.show_switches()
        app.ask_screen.show_notice(told)
        self._load()


def _problem(kind: IndexKind, chosen: str) -> str:
    """Why the index that is chosen cannot be used; empty if it can. It reads the disk."""
    from atomr_local.indexing.store import resolve

    try:
        resolve(kind, chosen)
    except AtomrError as error:
        return error.message
    return ""


# Private indexes while the terminal UI runs: marked by a key, or by the commands that it starts in the background.

_LOOK_AGAIN = 1.0  # seconds, while a question runs


class PrivateIndexes:
    """Changes the mark in the settings file, and lets the assistant know. To be used on the UI's thread."""

    def __init__(self, app: AtomrApp) -> None:
        """Make it for `app`."""
        self._app = app

    def toggle(self, name: str) -> None:
        """Make the index private, or no longer."""
        from atomr_local.indexing.store import index_names
        from atomr_local.settings.schema import load_settings
        from atomr_local.sources.privacy import mark_private

        try:
            private = name not in index_names(load_settings().privacy.indexes)
            mark_private([name], private=private)
        except AtomrError as error:
            self._app.show_error(error)
            return
        self._app.ask_screen.show_notice(f"{name} is {'private' if private else 'private no longer'}.")
        self.follow()

    def follow(self) -> None:
        """Take the marks of the settings file into use; a question that runs keeps those that it began with."""
        from atomr_local.settings.schema import load_settings

        assistant = self._app.assistant
        try:
            names = load_settings().privacy.indexes
        except AtomrError:  # told where the file is read for something else
            return
        if names == assistant.settings.privacy.indexes:
            return
        try:
            assistant.reconfigure(privacy={"indexes": names})
        except AtomrError:  # a question runs
            self._app.set_timer(_LOOK_AGAIN, self.follow)


_WAITS = ": it uses the network, and is asked while web search is on"


def _source_key(name: str, *, show: bool = False) -> Binding:
    """The key that turns one of our sources on and off; `show`: in the footer too."""
    source = SOURCES[name]
    action, tooltip = f"toggle_source({name!r})", source.tooltip
    return Binding(source.key, action, source.label, show, priority=True, tooltip=tooltip, id=f"{name}.toggle")


class AtomrApp(App[None]):
    """Ask, watch the tree, check the evidence."""

    CSS_PATH = Path(__file__).with_name("atomr.tcss")  # whole, so that subclasses find it
    TITLE = "atomr-local"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        # The keys that edit a line in a shell (^W, ^E, ^U) stay the question box's: no slip turns the web on.
        # Priority, so that what is typed right after a key that moves the focus already goes there.
        Binding("f1", "help", "Help", tooltip="Show or close this help", id="app.help"),
        _source_key("web", show=True),
        Binding("f3", "history", "History", priority=True, tooltip="Questions asked before", id="app.history"),
        Binding("f4", "settings", "Settings", priority=True, tooltip="Settings: model, indexes, limits, keys, themes",
                id="app.settings"),
        Binding("f5", "library", "Library", tooltip="Models and indexes: what is there, build, verify, remove",
                id="app.holdings"),
        Binding("f6", "examples", "Examples", show=False, priority=True, tooltip="Your worked plans",
                id="app.examples"),
        Binding("f7", "console", "SPARQL", show=False, priority=True, tooltip="The SPARQL console", id="app.console"),
        _source_key("text"),
        _source_key("graph"),
        Binding("ctrl+p", "command_palette", "Commands", show=False, priority=True,
                tooltip="The command palette: search everything that can be done", id="app.commands"),
        Binding("ctrl+g", "jump", "Jump", priority=True, tooltip="Jump: every place gets a letter", id="app.jump"),
        Binding("tab", "focus_next", "Next field", show=False, priority=True, system=True, id="focus.next"),
        Binding("shift+tab", "focus_previous", "Field before", show=False, priority=True, system=True,
                id="focus.previous"),
        Binding("ctrl+q", "quit", "Quit", priority=True, tooltip="Quit, also while a question runs", id="app.quit"),
    ]  # fmt: skip

    def __init__(
        self, assistant: Assistant | Callable[[], Assistant], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make the app of an assistant, or of what opens one: it is called on a thread, behind the first frame."""
        super().__init__()
        self.animation_level = "none"  # quick keys would overtake a scroll that glides
        self.jobs = Jobs(self._job_updated)
        self.fatal_error: AtomrError | None = None  # ours, that ended the program
        self.ask_screen = AskScreen(clock=clock)
        self._startup = Startup(self, assistant)
        self._indexes = IndexChanges(self, partial(self._startup.load, again=True))
        self.private = PrivateIndexes(self)
        self._opened: Assistant | None = None
        self.idle_embedding = IdleEmbedding(
            self.jobs,
            lambda: self._opened.settings if self._opened is not None else None,
            lambda: self.ask_screen.state.running,
            self._find_lacking,
        )
        self._sources: Mapping[str, SourceType] = SOURCES
        self._first_run_open = False  # the first start's choice is open
        self.readable = ReadableColours()
        register(self)
        self.theme = choose("")

    @property
    def assistant(self) -> Assistant:
        """The assistant; what needs it is dimmed until it is there."""
        assert self._opened is not None
        return self._opened

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self.readable.of(self)]

    def get_default_screen(self) -> Screen[None]:
        return self.ask_screen

    @on(AskScreen.WidgetsMounted)
    def _open(self) -> None:
        self._startup.open()

    def use_assistant(self, assistant: Assistant) -> None:
        if self._opened is None:
            self.set_interval(LOOK_EVERY, self.idle_embedding.look)
        self._opened = assistant
        self._follow_settings()
        self.ask_screen.attach(assistant)

    def use_sources(self, sources: Mapping[str, SourceType]) -> None:
        """Offer these sources, those of other packages among them."""
        self._sources = sources
        self.ask_screen.query_one(SourceSwitches).offer(sources)
        self.ask_screen.call_after_refresh(self.ask_screen.show_switches)

    def _follow_settings(self) -> None:
        """Theme, keys and panes as the settings have them."""
        ui = self.assistant.settings.ui
        self.theme = choose(ui.theme)
        self.set_keymap(current_keys(ui.keys))

    def _remember(self, changes: dict[str, object]) -> None:
        """Write settings to the user's file. If that fails, report it; the setting holds until the program ends."""
        from atomr_local.settings.file import save_settings

        try:
            save_settings(changes)
        except AtomrError as error:
            self.ask_screen.show_notice(f"Not remembered: {error.message}")

    # The sources

    @on(SourceSwitches.Toggled)
    def _toggled(self, message: SourceSwitches.Toggled) -> None:
        self.action_toggle_source(message.name)

    def action_toggle_source(self, name: str) -> None:
        """Turn a source on or off for the next question."""
        text = self._toggle_web() if name == "web" else self._toggle_local(name)
        self.ask_screen.show_switches()
        self.ask_screen.show_notice(text)

    def _toggle_web(self) -> str:
        state = self.ask_screen.state
        enabled = not self.assistant.web_enabled
        self.assistant.set_web(enabled)
        self._remember({"web.enabled": enabled})
        text = "Web search is on: questions may be sent to DuckDuckGo." if enabled else "Web search is off."
        if state.running and state.web != enabled:
            text += " The running question is not affected" + ("." if enabled else "; Escape stops it.")
        return text

    def _toggle_local(self, name: str) -> str:
        sources = self.assistant.settings.sources
        left = tuple(item for item in self._sources if item != "web" and (item in sources) != (item == name))
        if not left and not self.assistant.web_enabled:
            return "One source must stay on."
        if self.ask_screen.state.running:
            return f"{BUSY} Switch when it is done, or stop it with Escape."
        try:
            self.assistant.reconfigure(sources=left)
        except AtomrError as error:
            return f"{error.title}: {error.message}"
        self._remember({"sources": list(left)})
        if name in left:
            self._startup.load(again=True)
        source = self._sources[name]
        waits = name in left and source.network and not self.assistant.web_enabled
        return f"{source.label} is {'on' if name in left else 'off'}{_WAITS if waits else ''}."

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Screens are opened from the main one alone, and once the assistant is there."""
        return self.possible(action, self.screen)

    def possible(self, action: str, screen: Screen[Any]) -> bool | None:
        """Whether a key of the app does something on this screen now; None: it is dimmed."""
        if action in {"history", "settings", "library", "examples", "console", "toggle_source"}:
            return screen is self.ask_screen and (self._opened is not None or None)
        if action == "focus_next" and isinstance(self.focused, TextArea):
            return self.focused.tab_behavior == "focus"  # elsewhere it indents
        return True

    # The first start

    def offer_first_run(self) -> None:
        self._first_run_open = True
        if self.ask_screen.welcome.display:  # nothing was asked
            self.ask_screen.welcome.offer_first_run()

    def on_first_run_choices_chosen(self, message: FirstRunChoices.Chosen) -> None:
        """Go the way that was chosen; asking a question is choosing the starter."""
        self._finish_first_run()
        if message.way == "starter":
            self.ask_screen.action_focus_question()
            return
        library = self.action_library()
        library.call_after_refresh(library.action_pull if message.way == "get" else library.action_build)

    @on(AskScreen.AnswerFinished)
    def _finish_first_run(self) -> None:
        if self._first_run_open:
            self._first_run_open = False
            self.ask_screen.welcome.end_first_run()
            self._remember({"ui.first_run_done": True})

    # Embedding while nothing else is done

    def _find_lacking(self, names: Sequence[str], found: Callable[[str], None]) -> None:
        in_background(self, partial(lacking_vectors, names), found, group="idle", exclusive=True)

    @on(AskScreen.QuestionBegins)
    def _question_begins(self) -> None:
        self.idle_embedding.stop()

    def _embed_idle(self, name: str) -> None:
        """Embed the passages of this index while no question runs, or do so no longer."""
        names = self.idle_embedding.names
        left = [item for item in names if item not in {name, ALL}]
        changed = ",".join(left if self.idle_embedding.chosen(name) else [*names, name])
        try:
            self.assistant.reconfigure(ui={"embed_idle": changed})
        except AtomrError as error:  # a question runs
            self.ask_screen.show_notice(error.message)
            return
        self._remember({"ui.embed_idle": changed})
        self.idle_embedding.look()

    # The windows

    def action_history(self) -> None:
        from atomr_local.tui.screens.history.screen import HistoryChoice, HistoryScreen

        def chosen(choice: HistoryChoice | None) -> None:
            if choice is None:
                return
            if choice.kind == "open":
                self.ask_screen.turns.open(choice.trace, choice.conversation)
            else:
                self.ask_screen.turns.ask_again(choice.trace, choice.conversation)

        self.push_screen(HistoryScreen(keeping=self.assistant.settings.history.keep), chosen)

    def action_settings(self) -> None:
        from atomr_local.settings.file import save_settings
        from atomr_local.tui.screens.settings.screen import SettingsScreen

        if self.ask_screen.state.running:
            self.ask_screen.show_notice(f"{BUSY} Escape stops it.")
            return
        self.push_screen(SettingsScreen(self.assistant.settings, save=save_settings), self._settings_changed)

    def _settings_changed(self, changes: dict[str, object] | None) -> None:
        from atomr_local.settings.schema import load_settings

        if not changes:
            return
        try:
            fresh = load_settings()
            self.assistant.reconfigure(**fresh.model_dump())
        except AtomrError as error:
            self.show_error(error)
            return
        self._follow_settings()
        if fresh.web.enabled != self.assistant.web_enabled:
            self.assistant.set_web(fresh.web.enabled)
        self.ask_screen.show_switches()
        self._startup.load(again=True)

    def action_library(self) -> LibraryScreen:
        from atomr_local.tui.screens.library.screen import LibraryScreen

        library = LibraryScreen(
            lambda: self.assistant.settings, self.jobs, self._use, self._embed_idle, self.private.toggle
        )
        self.private.follow()
        self.push_screen(library)
        return library

    def _use(self, setting: str, name: str) -> None:
        """Take this model or index from now on, and remember it."""
        if self.ask_screen.state.running:
            self.ask_screen.show_notice(f"{BUSY} Escape on the main screen stops it.")
            return
        try:
            self.assistant.reconfigure(**{setting: name})
        except AtomrError as error:
            self.show_error(error)
            return
        self._remember({setting: name})
        self.ask_screen.show_notice(f"{name} is used from now on.")
        self._startup.load(again=True)

    def _job_updated(self, job: Job) -> None:
        self.call_later(self._job_changed, job)  # from the thread that follows the job

    def _job_changed(self, job: Job) -> None:
        from atomr_local.tui.screens.library.screen import LibraryScreen

        if job.state is not JobState.RUNNING:
            self.private.follow()
        self._indexes.job_ended(job)
        if isinstance(self.screen, LibraryScreen):
            self.screen.job_changed(job)
        elif job.state is not JobState.RUNNING and not self._is_pause(job):
            self.ask_screen.show_notice(f"{job.title}: {job.state}. {job.last_line}")

    def _is_pause(self, job: Job) -> bool:
        return job.state is JobState.STOPPED and self.idle_embedding.owns(job)

    def action_examples(self) -> None:
        from atomr_local.tui.screens.examples import ExamplesScreen

        self.push_screen(ExamplesScreen())

    def action_console(self) -> None:
        self.ask_screen.windows.open_console()

    def action_jump(self) -> None:
        from atomr_local.tui.screens.help import JumpScreen

        self.push_screen(JumpScreen(self.screen))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The command palette: everything that a key does now, then what every Textual program has."""

        yield from commands(self, screen, self._sources, super().get_system_commands(screen))

    def action_help(self) -> None:
        from atomr_local.tui.screens.help import Group, HelpScreen
        from atomr_local.tui.widgets.node_panel import NodePanel

        groups: list[Group] = [
            ("Everywhere", self.BINDINGS),
            *GROUPS.items(),
            ("In the question box", QuestionBox.BINDINGS),
            ("In the evidence", NodePanel.BINDINGS),
        ]
        if self.screen is not self.ask_screen:
            groups.insert(0, ("In this window", type(self.screen).BINDINGS))
        keys = self._opened.settings.ui.keys if self._opened is not None else {}
        self.push_screen(HelpScreen(groups, keys))

    async def action_quit(self) -> None:
        others = [job for job in self.jobs.running if not self.idle_embedding.owns(job)]
        if not others:
            self._leave()
            return
        from atomr_local.tui.screens.dialogs import confirm

        titles = "\n".join(job.title for job in others)
        text = f"{titles}\n\nStopped builds and downloads resume when you start them again."
        confirm(self, "Stop what runs in the background?", text, self._leave, yes="Stop and quit", no="Stay")

    def _leave(self) -> None:
        self.jobs.close()
        if self._opened is not None:
            self.ask_screen.action_cancel()
            self._opened.cancel()
            self._opened.stop_loading()
            share = self.ask_screen.view.moved_share
            looks: dict[str, object] = {} if share is None else {"ui.tree_share": share}
            if self.theme != choose(self._opened.settings.ui.theme):  # taken from the command palette
                looks["ui.theme"] = self.theme
            if looks:
                self._remember(looks)
        self.exit()

    # What fails

    def show_error(self, error: AtomrError) -> None:
        from atomr_local.tui.screens.dialogs import ErrorScreen

        self.push_screen(ErrorScreen(error))

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print a traceback over the terminal. Headless it shall: tests need it.
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.fatal_error = internal_error(error)
        self.exit(return_code=1)


def run() -> None:
    """Open the terminal UI and stay until the user quits."""
    opened: list[Assistant] = []

    def opener() -> Assistant:
        from atomr_local.assistant.assistant import Assistant

        opened.append(Assistant.open())
        return opened[0]

    app = AtomrApp(opener)
    try:
        app.run()
    finally:
        for assistant in opened:
            assistant.close()
    if app.fatal_error is not None:
        raise app.fatal_error


# What the command palette offers.


def commands(
    app: AtomrApp, screen: Screen[Any], sources: Mapping[str, SourceType], textual: Iterable[SystemCommand]
) -> Iterable[SystemCommand]:
    """Everything that a key does now, then what every Textual program has; each title once."""
    told = set[str]()
    others = (command for command in textual if command.title not in {"Quit", "Keys"})  # ours say more
    for command in chain(_of_keys(app, screen), _of_sources(app, screen, sources), others):
        if command.title not in told:
            told.add(command.title)
            yield command


def _of_keys(app: AtomrApp, screen: Screen[Any]) -> Iterable[SystemCommand]:
    for binding in app.BINDINGS:
        if isinstance(binding, Binding) and not binding.system and app.possible(parse(binding.action)[1], screen):
            yield _command(app, binding, app)
    if screen is app.ask_screen:
        for binding in chain.from_iterable(GROUPS.values()):
            _, action, parameters = parse(binding.action)
            if screen.check_action(action, parameters):
                yield _command(app, binding, screen)


def _of_sources(app: AtomrApp, screen: Screen[Any], sources: Mapping[str, SourceType]) -> Iterable[SystemCommand]:
    """The sources of other packages, which have no key."""
    if screen is app.ask_screen:
        for name, source in sources.items():
            if name not in SOURCES:
                title = sanitize_line(f"Turn {source.label} on or off")
                yield SystemCommand(title, "A source", partial(app.action_toggle_source, name))


def _command(app: AtomrApp, binding: Binding, owner: App[Any] | Screen[Any]) -> SystemCommand:
    key = f"Key {app.get_key_display(binding)}"
    return SystemCommand(binding.tooltip or binding.description, key, partial(owner.run_action, binding.action))
