"""RL LAB // GYM MANAGER: run `python main.py` and open http://127.0.0.1:8080."""

import sys
from contextlib import suppress

from app.cli import COMMANDS, is_command, run_command
from app.web.start_checks import settings_or_exit

if is_command(sys.argv[1:]):  # train, runs etc.: without the web imports below
    sys.exit(run_command(sys.argv[1:]))
else:  # before the imports, so that a wrong flag is reported at once
    settings = settings_or_exit(sys.argv[1:], COMMANDS)

from nicegui import app as nicegui_app
from nicegui import core, ui

from app.api import create_api
from app.lab import VERSION
from app.web.server import add_middleware, announce, open_lab, run_arguments
from pages import admin, compare, dashboard, environment, history, home, not_found, write
from pages.account import external_sign_in, login, profile, register, reset
from pages.layout import add_shared_files, add_shared_head
from pages.opener import bind_sockets, is_foreign

lab = open_lab(settings)

home.register(lab)  # /
dashboard.register(lab)  # /train, /runs/<id>
history.register(lab)  # /runs
compare.register(lab)  # /compare
environment.register(lab)  # /environments/<id>
write.register(lab)  # /write, /write/<name>
login.register(nicegui_app, lab)  # /login, /logout
register.register(nicegui_app, lab)  # /register
reset.register(nicegui_app, lab)  # /reset
external_sign_in.register(nicegui_app, lab)  # /auth/...
profile.register(lab)  # /profile
admin.register(lab)  # /admin
not_found.register(nicegui_app)
nicegui_app.mount("/api", create_api(lab))
add_shared_files(nicegui_app)
add_shared_head(VERSION, has_accounts=lab.accounts.is_on)

add_middleware(nicegui_app, lab, is_foreign=is_foreign)
if lab.accounts.is_on:
    bind_sockets(core.sio)
core.sio.eio.cors_allowed_origins = []  # no CORS headers; RequestFilter checks the origin
nicegui_app.on_startup(lab.open)
nicegui_app.on_startup(lambda: announce(lab))
nicegui_app.on_shutdown(lab.close)

with suppress(KeyboardInterrupt):  # Ctrl-C is the normal way to stop it
    ui.run(**run_arguments(lab.settings))
