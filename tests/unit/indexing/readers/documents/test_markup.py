"""Markup: reStructuredText, LaTeX, Org, AsciiDoc, Textile and MediaWiki text."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.read_documents import lines_of, placed_lines, read_document

pytest.importorskip("docutils")
pytest.importorskip("pylatexenc")


def told(source: str, name: str) -> list[str]:
    """The lines of the text, and before them the headings as "# Title"."""
    document = read_document(source, name)
    heads = [f"{'#' * level} {title}" for _, level, title in document.sections]
    return [*heads, *lines_of(document)]


_RST = """\
.. _top:

======
 Mill
======

:Author: Ann Lee
:Date: 2026

The `site <https://x.org>`_ and :math:`a<b` of :ref:`weir <weir-closed>`, see [#f1]_ and Python_. Run ``code``::

   x = 1
     y = 2

Wheel
-----

.. code-block:: python
   :linenos:

   def f():
       return 1

.. note:: The weir is closed
   in winter.

#. Stop
#. Grease

>>> 1 + 1
2

+------+--------+
| Part | Weight |
+======+========+
| Axle | 40 kg  |
|      | net    |
+------+--------+
| Hub  | 20 kg  |
+------+--------+

=====  ===
1      2
3      4
=====  ===

.. figure:: a.png
   :alt: A wheel

   The old wheel.

.. toctree::

   a

.. a private comment
   over two lines

Deep
~~~~

.. [#f1] A footnote.
"""


def test_restructured_text() -> None:
    document = read_document(_RST, "a.rst")
    assert document.title == "Mill"
    assert [(level, title) for _, level, title in document.sections] == [(1, "Mill"), (2, "Wheel"), (3, "Deep")]
    assert placed_lines(document) == [
        (7, "Author: Ann Lee"),
        (8, "Date: 2026"),
        (10, "The site and a<b of weir, see [#f1] and Python. Run code:"),
        (12, "x = 1"),
        (13, "  y = 2"),
        (21, "def f():"),
        (22, "    return 1"),
        (24, "The weir is closed in winter."),
        (27, "1. Stop"),
        (28, "2. Grease"),
        (30, ">>> 1 + 1"),
        (31, "2"),
        (36, "Part: Axle; Weight: 40 kg net"),
        (39, "Part: Hub; Weight: 20 kg"),
        (43, "1; 2"),
        (44, "3; 4"),
        (47, "A wheel"),
        (50, "The old wheel."),
        (62, "[#f1] A footnote."),
    ]


def test_a_proposal_has_the_title_of_its_head() -> None:
    document = read_document(
        "VEP: 34\nTitle: Task groups\nStatus: Final\n\nAbstract\n========\n\nA group: Title: no.\n", "a.rst"
    )
    assert (document.title, document.sections[0][1:]) == ("Task groups", (1, "Abstract"))
    assert placed_lines(document) == [
        (1, "VEP: 34"),
        (2, "Title: Task groups"),
        (3, "Status: Final"),
        (8, "A group: Title: no."),
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "A wheel is a :term:`built package\n<Built Distribution>` to install.",
            "A wheel is a built package to install.",
        ),
        ("See `the\nsite <https://a.org>`__.\nThen go.", "See the site. Then go."),
        ("- An item with :ref:`a long\n  name <there>` in it.", "An item with a long name in it."),
        ("Use ``pip\ninstall x`` now.", "Use pip install x now."),
        ("It costs 5` a foot.\n\nNo more.", "It costs 5` a foot.\n\nNo more."),
        ("By :pep:`8` and :py:func:`~os.path.join`.", "By PEP 8 and os.path.join."),
        ("10\\ :sup:`6` of H\\ :sub:`2`\\ O", "10^6 of H2O"),
        (
            "In |v| and |logo|, not |w|.\n\n.. |v| replace:: 3.14\n.. |logo| image:: a.png\n   :alt: Mill",
            "In 3.14 and Mill, not |w|.",
        ),
        ("|a|\n\n.. |a| replace:: x |b|\n.. |b| replace:: y |a|", "x y |a|"),
        ("a. one\nb. two\n\n(iv) four\n(v) five\n\n7. seven", "a. one\nb. two\n(iv) four\n(v) five\n7. seven"),
        ("wheel : part\n  It turns.", "wheel : part\nIt turns."),
        ("-o FILE, --out=FILE  The file.\n-v  Loud.", "-o FILE, --out=FILE The file.\n-v Loud."),
        (
            ".. list-table::\n   :header-rows: 1\n\n   * - Part\n     - Kg\n   * - Axle\n     - * 40\n       * net",
            "Part: Axle; Kg: 40, net",
        ),
        ('.. csv-table::\n   :header: Part, Kg\n\n   "Axle, long", 40', "Part: Axle, long; Kg: 40"),
        (
            ".. versionadded:: 3.2\n   The hub.\n\n.. tab:: Unix\n   :x: y\n\n   Go.",
            "Added in version 3.2: The hub.\n\nUnix\n\nGo.",
        ),
        (".. code:: c\n   :caption: a.c\n\n   int x;\n\n     y", "a.c\nint x;\n  y"),
        (".. note::\n\n   Odd\n   ---\n\n   Words.", "Words."),  # with a heading
        (".. list-table::\n\n   * - a\n     - b\n   * - lost?", ".. list-table::\n   * - a\n     - b\n   * - lost?"),
    ],
)
def test_no_word_of_restructured_text_is_lost(source: str, text: str) -> None:
    assert read_document(f"Guide\n=====\n\n{source}\n", "a.rst").text == text


def test_restructured_text_reads_no_other_file_and_says_nothing_of_errors(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").write_text("secret,1")
    names = ("include", "literalinclude", "raw", "csv-table", "figure", "image")
    source = "".join(
        f".. {name}:: {tmp_path / 'other' if name != 'csv-table' else ''}\n   :file: {tmp_path / 'other'}\n\n"
        for name in names
    )
    assert "secret" not in read_document(f"Words *here.\n\n{source}\n\nA\n==\n\n|x|_ `y`_\n", "a.rst").text
    assert capfd.readouterr() == ("", "")


_LATEX = r"""
\documentclass{article}
\newcommand{\acme}{ACME Ltd}
\newcommand{\price}{30} % not said
\title{Notes on \emph{Mills}}
\author{Ann Lee \and Bo}
\begin{document}
\maketitle
\section{The wheel}\label{sec:wheel}
It turns, see Section~\ref{sec:wheel} and \cite[p.~3]{knuth}. It costs 5\% of \$10{,}000 --- so ``much''.
Na\"ive\footnote{A note.} \acme{} asks $p = \price$ and \pair{1}{2}, 10\textsuperscript{6}, \SI{3.5}{kg}.

\begin{enumerate}
\item Stop.

  Wait.
\item[(x)] Grease.
  \begin{enumerate} \item axle \item hub \end{enumerate}
\item Go \verb|a_b|.
\end{enumerate}
\begin{enumerate}[start=5,label=\arabic*] \item five \end{enumerate}
\begin{table}[h]
\caption{Weights}
\begin{tabular}{l|r}
\hline
Part & Weight \\ \hline
Axle & 40 \& 2 \\
\multicolumn{2}{c}{Total 60} \\
\end{tabular}
\end{table}
\begin{lstlisting}[language=C]
int x; % kept
\end{lstlisting}
\begin{equation}\label{e}
E = mc^2
\end{equation}
\subsection*{A long
title}
\includegraphics[width=3cm]{a.png}
\begin{tikzpicture} \draw (0,0); \end{tikzpicture}
The end.
\end{document}
after
"""


def test_latex() -> None:
    document = read_document(_LATEX, "a.tex")
    assert document.title == "Notes on Mills"
    assert [head[1:] for head in document.sections] == [(3, "The wheel"), (4, "A long title")]
    assert placed_lines(document) == [
        (6, "Ann Lee, Bo"),
        (
            10,
            "It turns, see Section sec:wheel and [knuth, p. 3]. It costs 5% of $10,000 — so “much”. Naïve [A note.] ACME Ltd asks p = 30 and 1 2, 10^6, 3.5 kg.",
        ),
        (14, "1. Stop."),
        (16, "Wait."),
        (17, "(x) Grease."),
        (18, "(a) axle"),
        (18, "(b) hub"),
        (19, "2. Go a_b."),
        (21, "5. five"),
        (23, "Weights"),
        (27, "Part: Axle; Weight: 40 & 2"),
        (28, "Part: Total 60"),
        (32, "int x; % kept"),
        (35, "E = mc^2"),
        (41, "The end."),
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"\begin{itemize}\item a", "a"),
        (r"\section{open", "open"),
        (r"{{{ {a} $b", "a b"),
        (r"\verb|50%| at \url{a.org/%20b} \% \\% hidden", "50% at a.org/%20b %"),
        ("\\newcommand{\\a}{\\b\\b}\n\\newcommand{\\b}{x}\n\\a", "xx"),
        (r"\begin{tabular}{l}", ""),
        (r"\input{/etc/passwd} and \today{} a", "and a"),
    ],
)
def test_damaged_latex_is_read_as_far_as_it_goes(source: str, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert read_document(f"First.\n\n{source}\n", "a.tex").text.removeprefix("First.").strip() == text
    assert capfd.readouterr() == ("", "")


_ORG = """\
#+TITLE: Notes on /Mills/
# private
* TODO [#A] The wheel :mill:
SCHEDULED: <2024-05-01 Wed>
:PROPERTIES:
:ID: abc
:PRICE: 30
:END:
It turns *boldly* with =a*b*c= at [[https://x.org][a site]],
second[fn:1] goes /on
here/ now 2*3*4.

** Steps
1. Stop
   and wait.
   - inner
2. Grease
3. [@10] Ten
- Hub :: The middle
| Part | Kg |
|------+----|
| Axle | 40 |
#+begin_src python
x = 1
,* no
#+end_src
#+begin_comment
secret
#+end_comment
#+begin_quote
Quoted.
#+end_quote
: fixed  width
[fn:1] The note.
"""
_ASCIIDOC = """\
= Notes
:version: 3.14

== The wheel

It *turns* with `a*b*c` in {version}, see <<w,the wheel>>, <<w>>,
https://x.org[site]footnote:[A note.].
// private

. Stop
+
----
x = 1
----
+
and wait
. Grease
.. axle
.. hub
* bullet

Between.

. one
[start=4]
. four

Hub::
  The middle.

.Weights
[cols="1,1",options="header"]
|===
|Part |Kg
|Axle
|40
2+|Total 60
|===

////
secret
////

Old Style
---------

include::/etc/passwd[]
image::a.png[A wheel,300]

[quote, Ann Lee]
____
Quoted.
____
"""
_TEXTILE = """\
h1. Mill

The *wheel* turns "slowly":http://x.org/a, see [[Page|that]].

# Stop
# Grease
## axle
# Go

|_. Part|_. Kg|
|Axle|40|

<pre>
x = 1
</pre>

fn1. A note.
"""
_WIKI = """\
= Mill =
The '''wheel''' turns<ref>A note.</ref>, see [[Axle|the axle]] and [https://x.org site].
# Stop
# Grease
## axle
# Go
Between.
# again
{| class="wikitable"
! Part !! Kg
|-
| Axle || 40
|}
<pre>
x = 1
</pre>
"""


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        (
            "a.org",
            _ORG,
            "# The wheel|## Steps|SCHEDULED: <2024-05-01 Wed>|PRICE: 30"
            "|It turns boldly with a*b*c at a site, second[1] goes on here now 2*3*4.|1. Stop and wait.|inner|2. Grease"
            "|10. Ten|Hub: The middle|Part: Axle; Kg: 40|x = 1|* no|Quoted.|fixed  width|[1] The note.",
        ),
        (
            "a.adoc",
            _ASCIIDOC,
            "# Notes|## The wheel|## Old Style|It turns with a*b*c in 3.14, see the wheel, w, site [A note.].|1. Stop|x = 1"
            "|and wait|2. Grease|a. axle|b. hub|bullet|Between.|1. one|4. four|Hub: The middle.|Weights|Part: Axle; Kg: 40"
            "|Part: Total 60|A wheel|Ann Lee|Quoted.",
        ),
        (
            "a.textile",
            _TEXTILE,
            "# Mill|The wheel turns slowly, see that.|1. Stop|2. Grease|1. axle|3. Go|Part: Axle; Kg: 40|x = 1|[1] A note.",
        ),
        (
            "a.wiki",
            _WIKI,
            "# Mill|The wheel turns [A note.], see the axle and site.|1. Stop|2. Grease|1. axle|3. Go|Between.|1. again"
            "|Part; Kg|Axle; 40|x = 1",
        ),
    ],
)
def test_other_markup(name: str, source: str, expected: str) -> None:
    assert told(source, name) == expected.split("|")


def test_lines_of_other_markup_are_where_they_stand() -> None:
    assert placed_lines(read_document(_ORG, "a.org"))[2:6] == [
        (9, "It turns boldly with a*b*c at a site, second[1] goes on here now 2*3*4."),
        (14, "1. Stop and wait."),
        (16, "inner"),
        (17, "2. Grease"),
    ]
    assert [place for _, place in read_document(_ORG, "a.org").places][2:5] == [9, 10, 11]
    assert [at for at, text in placed_lines(read_document(_ASCIIDOC, "a.adoc")) if "40" in text or "Total" in text] == [
        35,
        37,
    ]


def test_cells_of_asciidoc_that_reach_down_shift_no_number() -> None:
    table = "[cols=3]\n|===\n|Part |Year |Kg\n\n.2+|Axle |1912 |40\n|1913 |41\n|Hub |1914 a|42\n|==="
    assert told(table.replace("cols=3", 'cols="3*",options="header"'), "a.adoc") == [
        "Part: Axle; Year: 1912; Kg: 40",
        "Part: Axle; Year: 1913; Kg: 41",
        "Part: Hub; Year: 1914; Kg: 42",
    ]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.rst", "".join(f"{' ' * i}* x\n\n" for i in range(0, 2_000, 2))),
        ("a.rst", "".join(f".. |a{i}| replace:: |a{i + 1}| |a{i + 1}|\n" for i in range(500)) + "\n|a0| x\n"),
        ("a.rst", "|a *b ``c " * 4_000 + "x"),
        ("a.rst", "".join(f".. d{i}:: x\n\n" for i in range(2_000))),
        ("a.tex", "{" * 5_000 + "x"),
        (
            "a.tex",
            "".join(rf"\newcommand{{\{a}}}{{\{b} \{b}}}" + "\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
            + r"\a x",
        ),
        ("a.tex", r"\begin{enumerate}\item x" * 500),
        ("a.adoc", ":a: {a}{a}\n{a} x\n" + "=" * 50_000),
        ("a.adoc", f'[cols="0*"]\n|===\n|x\n.{"9" * 5000}+|y {"9" * 5000}+|z\n|===\n[start={"9" * 5000}]\n. x'),
        ("a.adoc", f"a{' ' * 50_000}x\n== a{' ' * 50_000}x\n{'https://' * 5_000} x {':' * 50_000}"),
        ("a.org", "*x" * 20_000 + "\n" + "[[" * 20_000 + "\n* a" + " " * 50_000 + "x"),
        ("a.textile", '"' * 20_000 + "!a" * 20_000 + "x\n- a" + " " * 50_000 + "x"),
        ("a.wiki", "[[" * 20_000 + "'" * 20_000 + "<ref>" * 5_000 + "x\n= a" + " " * 50_000 + "x\n|" + 'a="' * 20_000),
        ("a.tex", "\n" * 100_000 + "\\begin{a}" + "[" * 50_000 + "\n\\section{" + "{" * 50_000 + "x"),
    ],
    ids=lambda value: value[:12].strip(),
)
def test_hostile_markup_takes_little_time_and_keeps_its_words(name: str, source: str) -> None:
    assert "x" in read_document(source, name).text
