"""What a page says once after an action, by code: a cookie carries the code and never a text of somebody's choice."""

NOTICES = {
    "confirmed": "Your account is confirmed. Welcome to Strongroom.",
    "signed_out": "You are signed out.",
    "password_changed": "Your password was changed, and every other session was ended.",
    "email_changed": "Your e-mail address was changed.",
    "email_link_sent": "We sent a link to the new address. The change takes effect once it is opened.",
    "name_changed": "Your name was changed.",
    "session_ended": "The session was ended.",
    "sessions_ended": "Every other session was ended.",
    "totp_on": "Authenticator codes are on. You are asked for one at your next sign-in.",
    "totp_off": "Authenticator codes are off.",
    "passkey_added": "The passkey was added.",
    "passkey_removed": "The passkey was removed.",
    "account_deleted": "Your account was deleted.",
    "please_sign_in": "Please sign in to continue.",
    "signed_out_idle": "You were signed out after a time without use.",
}
