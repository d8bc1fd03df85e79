"""The message of a scene: what it shows, the choices and buttons below it, and what a press on them is for."""
