"""The terminal UI. It knows the core only through `Assistant` and its events.

The assistant works on worker threads that only post messages; the handlers here and of the screens own the state.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from atomr_local.tui.background import ErrorScreen, in_background, internal_error
from atomr_local.tui.colours import ReadableColours, choose, register
from atomr_local.tui.idle_embedding import ALL, LOOK_EVERY, IdleEmbedding, lacking_vectors
from atomr_local.tui.jobs import Job, Jobs, JobState
from atomr_local.tui.keys import BUSY, GROUPS, current_keys, wrong_keys
from atomr_local.tui.screens.ask.screen import AskScreen
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


_NOTICE = 20.0  # seconds that a notice about the settings stays
_MOST_SHOWN = 3  # wrong entries told in one notice
_LOOK_AGAIN = 1.0  # seconds, while a question runs


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


def _problem(kind: IndexKind, chosen: str) -> str:
    """Why the index that is chosen cannot be used; empty if it can. It reads the disk."""
    from atomr_local.indexing.store import resolve

    try:
        resolve(kind, chosen)
    except AtomrError as error:
        return error.message
    return ""


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
        self._given = assistant
        self._opened: Assistant | None = None
        self._off: set[str] = set()  # sources that went off with their index
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

    # How the program comes up: the assistant is opened and loaded behind the first frame

    @on(AskScreen.WidgetsMounted)
    def _open(self) -> None:
        if callable(self._given):
            in_background(self, self._given, self._use_assistant, failed=self._not_ready, group="open")
        else:
            self._use_assistant(self._given)

    def _use_assistant(self, assistant: Assistant) -> None:
        ui = assistant.settings.ui
        self.set_interval(LOOK_EVERY, self.idle_embedding.look)
        self._opened = assistant
        self._follow_settings()
        self.ask_screen.attach(assistant)
        self.call_after_refresh(self.load)
        in_background(self, all_sources, self._use_sources, group="sources")
        if ui.keys:
            in_background(self, partial(wrong_keys, ui.keys), self._warn_of_wrong_keys, group="keys")
        if not ui.first_run_done:
            in_background(self, partial(_is_first_run, assistant.settings), self._offer_first_run, group="look")

    def load(self, *, again: bool = False) -> None:
        """Load the model and the indexes; `again`: others than before."""
        screen = self.ask_screen
        if again:
            screen.show_loading("loading")

        def show(stage: str) -> None:
            self.call_later(screen.show_loading, stage)

        def work() -> None:
            if again:  # what the change of the settings let go is collected
                gc.unfreeze()
                gc.collect()
            self.assistant.preload(show)
            gc.freeze()  # looking through all that is there by now would hold up a frame for a tenth of a second

        def loaded(_: None) -> None:
            screen.show_loading("")
            # What fails there is told when a question is asked.
            made = self.assistant.example_questions
            in_background(self, made, screen.welcome.offer, failed=lambda _: None, group="made")

        in_background(self, work, loaded, failed=self._not_ready, group="load")

    def _not_ready(self, error: AtomrError) -> None:
        self.ask_screen.show_loading("not ready")
        if self._opened is None:
            self.ask_screen.action_cancel()  # what waits for the assistant comes back into the box
        self.show_error(error)

    def _warn_of_wrong_keys(self, problems: Sequence[str]) -> None:
        if not problems:
            return
        lines = [sanitize_line(problem) for problem in problems[:_MOST_SHOWN]]
        if len(problems) > _MOST_SHOWN:
            lines.append(f"… and {len(problems) - _MOST_SHOWN} more")
        lines.append("Correct ui.keys in the settings (F4); F1 shows the keys.")
        self.notify("\n".join(lines), title="Your own keys", severity="warning", timeout=_NOTICE, markup=False)

    def _use_sources(self, sources: Mapping[str, SourceType]) -> None:
        """Offer these sources, those of other packages among them."""
        self._sources = sources
        for switches in self.ask_screen.query(SourceSwitches):  # none, where the program is ending
            switches.offer(sources)
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
            self.load(again=True)
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

    def _offer_first_run(self, first_run: bool) -> None:
        if not first_run:
            return
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

    # Indexes that are removed and built while the program runs: their source goes off, and on again

    def _look_at_indexes(self, job: Job) -> None:
        """Look whether the index in use is still there, once a job that changes indexes is done."""
        if job.state is not JobState.DONE or "--unfinished" in job.arguments:
            return
        match job.arguments:
            case ("indexes", "remove", "text" | "graph" as kind, *_) | ("text" | "graph" as kind, "build" | "sync", *_):
                self._look_at_index(kind)
            case ("indexes", "import", *_):
                for one in KINDS:
                    self._look_at_index(one)

    def _look_at_index(self, kind: IndexKind) -> None:
        settings = self.assistant.settings
        chosen = settings.text_index if kind == "text" else settings.graph_index
        in_background(self, partial(_problem, kind, chosen), partial(self._looked_at_index, kind), group="indexes")

    def _looked_at_index(self, kind: IndexKind, problem: str) -> None:
        label, sources = SOURCES[kind].label, self.assistant.settings.sources
        if problem:
            left = tuple(name for name in sources if name != kind)
            if kind not in sources or not (left or self.assistant.web_enabled):
                return
            self._change_sources(left, f"{label} is off: {problem}. It comes back when the index is built again.")
            self._off.add(kind)
        elif kind in self._off:
            self._off.discard(kind)
            if kind not in sources:
                order = dict.fromkeys((*SOURCES, *sources))  # those of other packages too
                on = tuple(name for name in order if name == kind or name in sources)
                self._change_sources(on, f"{label} is on again.")
        elif kind in sources and not self.ask_screen.state.running:
            self.load(again=True)  # another index of the kind may be the one in use now

    def _change_sources(self, sources: tuple[str, ...], told: str) -> None:
        """Not remembered: the setting is what the user chose. While a question runs, the next one leaves it out."""
        changed = self._reconfigure(sources=sources)
        if changed:
            self.ask_screen.show_switches()
        self.ask_screen.show_notice(told)
        if changed:
            self.load(again=True)

    def _reconfigure(self, **changes: object) -> bool:
        """Whether the settings could be changed: not while a question runs."""
        with suppress(AtomrError):
            self.assistant.reconfigure(**changes)
            return True
        return False

    # Private indexes, marked by a key or by the commands that run in the background

    def toggle_private(self, name: str) -> None:
        """Make the index private, or no longer."""
        from atomr_local.indexing.store import index_names
        from atomr_local.settings.schema import load_settings
        from atomr_local.sources.privacy import mark_private

        try:
            private = name not in index_names(load_settings().privacy.indexes)
            mark_private([name], private=private)
        except AtomrError as error:
            self.show_error(error)
            return
        self.ask_screen.show_notice(f"{name} is {'private' if private else 'private no longer'}.")
        self.follow_private()

    def follow_private(self) -> None:
        """Take the marks of the settings file into use; a question that runs keeps those that it began with."""
        from atomr_local.settings.schema import load_settings

        try:
            names = load_settings().privacy.indexes
        except AtomrError:  # told where the file is read for something else
            return
        if names != self.assistant.settings.privacy.indexes and not self._reconfigure(privacy={"indexes": names}):
            self.set_timer(_LOOK_AGAIN, self.follow_private)

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
                self.ask_screen.open_kept(choice.trace, choice.conversation)
            else:
                self.ask_screen.ask_kept(choice.trace, choice.conversation)

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
        self.load(again=True)

    def action_library(self) -> LibraryScreen:
        from atomr_local.tui.screens.library.screen import LibraryScreen

        library = LibraryScreen(
            lambda: self.assistant.settings, self.jobs, self._use, self._embed_idle, self.toggle_private
        )
        self.follow_private()
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
        self.load(again=True)

    def _job_updated(self, job: Job) -> None:
        self.call_later(self._job_changed, job)  # from the thread that follows the job

    def _job_changed(self, job: Job) -> None:
        from atomr_local.tui.screens.library.screen import LibraryScreen

        if job.state is not JobState.RUNNING:
            self.follow_private()
        self._look_at_indexes(job)
        if isinstance(self.screen, LibraryScreen):
            self.screen.job_changed(job)
            return
        paused = job.state is JobState.STOPPED and self.idle_embedding.owns(job)
        if job.state is not JobState.RUNNING and not paused:
            self.ask_screen.show_notice(f"{job.title}: {job.state}. {job.last_line}")

    def action_examples(self) -> None:
        from atomr_local.tui.screens.examples import ExamplesScreen

        self.push_screen(ExamplesScreen())

    def action_console(self) -> None:
        self.ask_screen.open_console()

    def action_jump(self) -> None:
        from atomr_local.tui.screens.help import JumpScreen

        self.push_screen(JumpScreen(self.screen))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The command palette: everything that a key does now, then what every Textual program has; each title once."""
        told = set[str]()
        others = (one for one in super().get_system_commands(screen) if one.title not in {"Quit", "Keys"})
        for command in chain(self._commands(screen), others):  # ours say more
            if command.title not in told:
                told.add(command.title)
                yield command

    def _commands(self, screen: Screen[Any]) -> Iterator[SystemCommand]:
        for binding in self.BINDINGS:
            if isinstance(binding, Binding) and not binding.system and self.possible(parse(binding.action)[1], screen):
                yield self._command(binding, self)
        if screen is not self.ask_screen:
            return
        for binding in chain.from_iterable(GROUPS.values()):
            if screen.check_action(*parse(binding.action)[1:]):
                yield self._command(binding, screen)
        for name, source in self._sources.items():  # those of other packages have no key
            if name not in SOURCES:
                title = sanitize_line(f"Turn {source.label} on or off")
                yield SystemCommand(title, "A source", partial(self.action_toggle_source, name))

    def _command(self, binding: Binding, owner: App[Any] | Screen[Any]) -> SystemCommand:
        key = f"Key {self.get_key_display(binding)}"
        return SystemCommand(binding.tooltip or binding.description, key, partial(owner.run_action, binding.action))

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
