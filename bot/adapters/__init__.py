"""The edges: each adapter turns a platform's input into requests and shows events its own way."""
