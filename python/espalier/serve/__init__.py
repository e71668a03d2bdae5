"""The servers of `espalier serve`. They need the extra `serve`; nothing else imports them."""
