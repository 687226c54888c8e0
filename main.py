"""RL LAB // GYM MANAGER: run `python main.py` and open http://127.0.0.1:8080."""

import sys
from contextlib import suppress

from app.cli import COMMANDS, is_command, run_command
from app.web.start_checks import settings_or_exit

if is_command(sys.argv[1:]):  # train, runs and so on: without the web parts below
    sys.exit(run_command(sys.argv[1:]))
else:  # says at once what is wrong with a flag
    settings = settings_or_exit(sys.argv[1:], COMMANDS)

from nicegui import app as nicegui_app
from nicegui import core, ui

from app.api import create_api
from app.lab import VERSION
from app.web.assets import ASSETS_FOLDER, ASSETS_URL
from app.web.authentication import Authentication
from app.web.head_requests import HeadRequests
from app.web.json_bodies import JsonBodies
from app.web.request_filter import RequestFilter
from app.web.server import announce, open_lab, run_arguments
from components.shell.theme import STYLESHEET, STYLESHEET_URL
from pages import admin, compare, dashboard, environment, history, home, not_found, write
from pages.account import elsewhere, login, profile, register, reset
from pages.layout import (
    FRAME_SCRIPT,
    FRAME_SCRIPT_URL,
    SIGNS_SCRIPT,
    SIGNS_SCRIPT_URL,
    add_shared_head,
)
from pages.visiting import bind_frames, is_foreign

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
elsewhere.register(nicegui_app, lab)  # /auth/...
profile.register(lab)  # /profile
admin.register(lab)  # /admin
not_found.register(nicegui_app)
nicegui_app.mount("/api", create_api(lab))
nicegui_app.add_static_files(ASSETS_URL, ASSETS_FOLDER)
nicegui_app.add_static_file(local_file=STYLESHEET, url_path=STYLESHEET_URL)
nicegui_app.add_static_file(local_file=FRAME_SCRIPT, url_path=FRAME_SCRIPT_URL)
nicegui_app.add_static_file(local_file=SIGNS_SCRIPT, url_path=SIGNS_SCRIPT_URL)
add_shared_head(VERSION, has_accounts=lab.accounts.is_on)

nicegui_app.add_middleware(JsonBodies)
nicegui_app.add_middleware(HeadRequests)
nicegui_app.add_middleware(Authentication, accounts=lab.accounts, is_foreign=is_foreign)
nicegui_app.add_middleware(RequestFilter, hosts=lab.settings.allowed_hosts)
if lab.accounts.is_on:
    bind_frames(core.sio)
core.sio.eio.cors_allowed_origins = []  # no CORS headers; RequestFilter checks the origin
nicegui_app.on_startup(lab.open)
nicegui_app.on_startup(lambda: announce(lab))
nicegui_app.on_shutdown(lab.close)

with suppress(KeyboardInterrupt):  # Ctrl-C is how one ends it
    ui.run(**run_arguments(lab.settings))
