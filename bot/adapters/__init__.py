"""The adapters: each turns a platform's input into requests and shows events in the platform's own way."""
