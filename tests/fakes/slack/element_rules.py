"""Checks elements in blocks as Slack does: texts, buttons, menus, inputs.

https://docs.slack.dev/reference/block-kit/block-elements; the words of a refusal are of the form that the service
uses. Each check records faults with a pointer to the place.
"""

from __future__ import annotations

from typing import Any

CHOICES = ("static_select", "multi_static_select", "radio_buttons", "checkboxes", "overflow")
PICKERS = (
    "users_select",
    "conversations_select",
    "channels_select",
    "multi_users_select",
    "multi_conversations_select",
    "multi_channels_select",
    "datepicker",
    "timepicker",
    "datetimepicker",
    "external_select",
    "multi_external_select",
)
FIELDS = (
    "plain_text_input",
    "number_input",
    "email_text_input",
    "url_text_input",
    "rich_text_input",
    "file_input",
)
IN_ACTIONS = ("button", "workflow_button", *CHOICES, *PICKERS)
IN_SECTION = (*IN_ACTIONS, "image")
IN_INPUT = tuple(kind for kind in (*CHOICES, *PICKERS, *FIELDS) if kind != "overflow")
IN_CONTEXT_ACTIONS = ("feedback_buttons", "icon_button")
BUTTON_VALUE, BUTTON_TEXT, URL, ACTION_ID = 2000, 75, 3000, 255
OPTION_TEXT, OPTION_VALUE = 75, 150
OPTIONS = {"overflow": 5, "radio_buttons": 10, "checkboxes": 10}


class Check:
    """Collects faults; `at` is the current place, such as /blocks/0/text."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def no(self, reason: str, at: str) -> None:
        self.problems.append(f"{reason} [json-pointer:{at}]")

    def known(self, element: dict[str, Any], names: str, at: str) -> None:
        """Check that there are no other keys."""
        for name in element.keys() - {"type", "block_id", "action_id", *names.split()}:
            self.no(f"additional property: {name}", at)

    def string(self, element: dict[str, Any], name: str, at: str, limit: int, required: bool = True) -> None:
        value = element.get(name)
        if value is None:
            if required:
                self.no(f"missing required field: {name}", at)
        elif not isinstance(value, str):
            self.no("must provide a string", f"{at}/{name}")
        elif len(value) > limit:
            self.no(f"must be less than {limit + 1} characters", f"{at}/{name}")
        elif not value and required:
            self.no("must be more than 0 characters", f"{at}/{name}")

    def text(
        self,
        element: dict[str, Any],
        name: str,
        at: str,
        limit: int,
        plain: bool = False,
        required: bool = True,
    ) -> None:
        """A text object."""
        value = element.get(name)
        if value is None:
            if required:
                self.no(f"missing required field: {name}", at)
            return
        self.said(value, f"{at}/{name}", limit, plain)

    def said(self, value: Any, at: str, limit: int, plain: bool = False) -> None:
        if not isinstance(value, dict):
            self.no("must provide an object", at)
            return
        self.known(value, "text verbatim" if value.get("type") == "mrkdwn" else "text emoji", at)
        if value.get("type") not in (("plain_text",) if plain else ("plain_text", "mrkdwn")):
            self.no(f"unsupported type: {value.get('type')}", f"{at}/type")
        self.string(value, "text", at, limit)

    def rows(self, element: dict[str, Any], name: str, at: str, low: int, high: int) -> list[dict[str, Any]]:
        """A list of objects; other values are recorded as faults and left out."""
        value = element.get(name)
        if value is None:
            if low:
                self.no(f"missing required field: {name}", at)
            return []
        at = f"{at}/{name}"
        if not isinstance(value, list):
            self.no("must provide an array", at)
            return []
        if len(value) > high:
            self.no(f"no more than {high} items allowed", at)
        if len(value) < low:
            self.no(f"no less than {low} items allowed", at)
        for number, row in enumerate(value):
            if not isinstance(row, dict):
                self.no("must provide an object", f"{at}/{number}")
        return [item for item in value if isinstance(item, dict)]

    def one_of(self, element: dict[str, Any], name: str, at: str, values: tuple[str, ...]) -> None:
        if name in element and element[name] not in values:
            self.no("value must be one of " + ", ".join(values), f"{at}/{name}")

    # Elements

    def element(self, element: dict[str, Any], at: str, allowed: tuple[str, ...]) -> None:
        kind = element.get("type")
        if kind not in allowed:
            self.no(f"unsupported type: {kind}", f"{at}/type")
            return
        self.string(element, "action_id", at, ACTION_ID, required=False)
        if kind == "button":
            self._button(element, at)
        elif kind in CHOICES:
            self._choices(element, at)
        elif kind == "feedback_buttons":
            self._feedback(element, at)
        elif kind == "icon_button":
            self.text(element, "text", at, BUTTON_TEXT, plain=True)
            self.string(element, "icon", at, 50)
        elif kind == "image":
            self.image(element, at)
        elif kind == "plain_text_input":
            self._text_input(element, at)
        self._confirm(element, at)
        self.text(element, "placeholder", at, 150, plain=True, required=False)

    def _button(self, element: dict[str, Any], at: str) -> None:
        self.known(element, "text url value style confirm accessibility_label agent_prompt", at)
        self.text(element, "text", at, BUTTON_TEXT, plain=True)
        self.string(element, "value", at, BUTTON_VALUE, required=False)
        self.string(element, "url", at, URL, required=False)
        self.one_of(element, "style", at, ("primary", "danger"))

    def _feedback(self, element: dict[str, Any], at: str) -> None:
        self.known(element, "positive_button negative_button", at)
        for name in ("positive_button", "negative_button"):
            button = element.get(name)
            if not isinstance(button, dict):
                self.no(f"missing required field: {name}", at)
                continue
            self.text(button, "text", f"{at}/{name}", BUTTON_TEXT, plain=True)
            self.string(button, "value", f"{at}/{name}", BUTTON_VALUE)

    def _choices(self, element: dict[str, Any], at: str) -> None:
        groups = self.rows(element, "option_groups", at, 0, 100)
        for number, group in enumerate(groups):
            self.text(group, "label", f"{at}/option_groups/{number}", 75, plain=True)
            self._options(group, f"{at}/option_groups/{number}", 100)
        if not groups:
            self._options(element, at, OPTIONS.get(str(element.get("type")), 100))

    def _options(self, element: dict[str, Any], at: str, most: int) -> None:
        for number, row in enumerate(self.rows(element, "options", at, 1, most)):
            place = f"{at}/options/{number}"
            self.known(row, "text value description url", place)
            self.text(row, "text", place, OPTION_TEXT)
            self.string(row, "value", place, OPTION_VALUE)
            self.text(row, "description", place, OPTION_TEXT, required=False)

    def _text_input(self, element: dict[str, Any], at: str) -> None:
        self.known(
            element,
            "placeholder initial_value multiline min_length max_length dispatch_action_config focus_on_load",
            at,
        )
        most = element.get("max_length", 3000)
        if not isinstance(most, int) or not 1 <= most <= 3000:
            self.no("must be between 1 and 3000", f"{at}/max_length")
            return
        self.string(element, "initial_value", at, most, required=False)

    def _confirm(self, element: dict[str, Any], at: str) -> None:
        confirm = element.get("confirm")
        if not isinstance(confirm, dict):
            return
        at = f"{at}/confirm"
        self.text(confirm, "title", at, 100, plain=True)
        self.text(confirm, "text", at, 300)
        self.text(confirm, "confirm", at, 30, plain=True)
        self.text(confirm, "deny", at, 30, plain=True)

    def image(self, element: dict[str, Any], at: str) -> None:
        self.known(element, "image_url slack_file alt_text title", at)
        if "slack_file" not in element:
            self.string(element, "image_url", at, URL)
        self.string(element, "alt_text", at, 2000)
