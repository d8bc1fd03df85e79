"""The message of a scene: its text, the choices and buttons below it, and what a press on them does."""
