"""Screens above the views: one of several items, the details of a row, the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from tare.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from tare.naming.names import Frame


class Details(ModalScreen[None]):
    """Everything about one row, above the tables."""

    CSS = """
    Details { align: center middle; }
    Details VerticalScroll { width: 96%; height: auto; max-height: 90%; padding: 0 1; border: solid $primary; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "leave", "close"),
        Binding("e", "edit", "editor"),
    ]

    def __init__(self, text: str, frame: Frame | None, edit: Callable[[Frame | None], None]) -> None:
        super().__init__()
        self._text = text
        self._frame = frame
        self._edit = edit
        self._left = False

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(Text("\n".join(map(printable, self._text.splitlines()))), id="details")
        yield Footer()

    def action_edit(self) -> None:
        self._edit(self._frame)

    def action_leave(self) -> None:
        if not self._left:  # a key pressed twice
            self._left = True
            self.dismiss()


class Chooser(ModalScreen[str | None]):
    """One of a list, by arrows and Enter."""

    CSS = """
    Chooser { align: center middle; }
    Chooser OptionList { width: 70%; max-width: 100; height: auto; max-height: 80%; border: solid $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "close")]

    def __init__(self, title: str, items: Sequence[tuple[str, str]], chosen: str) -> None:
        """`items`: key and text."""
        super().__init__()
        self._title = title
        self._items = items
        self._chosen = chosen
        self._left = False

    def compose(self) -> ComposeResult:
        # An id must not contain any character of a path, so that the items are found by their place.
        listed = OptionList(*(Option(Text(printable(text))) for _, text in self._items))
        listed.border_title = self._title
        keys = [key for key, _ in self._items]
        listed.highlighted = keys.index(self._chosen) if self._chosen in keys else 0
        yield listed
        yield Footer()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._leave(self._items[event.option_index][0])

    def action_leave(self) -> None:
        self._leave(None)

    def _leave(self, key: str | None) -> None:
        if not self._left:  # a key pressed twice
            self._left = True
            self.dismiss(key)
