"""The servers of `espalier serve`. They need the extra `serve`. Nothing else imports them."""
