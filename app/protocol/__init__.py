"""Code shared by the web process and workers: messages, commands, framing, the pipe."""

from app.protocol.atari import FRAME_SKIP, NO_FRAMESKIP, STICKY_ACTIONS, V5, AtariProtocol
from app.protocol.commands import EngineName, TryoutMode
from app.protocol.grid_map import MAX_MAP_SIDE, Cell, GridMap, read_map, two_rooms
from app.protocol.messages import (
    Count,
    FileName,
    FrameHeader,
    MetricName,
    Number,
    ObservationWrapper,
    RewardChecked,
    Scored,
    Term,
)
from app.protocol.pipe import Channel, Control, Request, file_frames, read_file
from app.protocol.schedule import (
    SCHEDULE_FORMS,
    Schedule,
    ScheduleMode,
    next_schedule_end,
    plain_number,
    read_schedule,
)
from app.protocol.seeds import EVALUATION_SEEDS, SeedFamily, confirmation_seed, selection_seed
from app.protocol.user_code import (
    ENVIRONMENT_FILE,
    EVALUATION_FILE,
    LONGEST_CALL_S,
    REWARD_FILE,
    USER_CODE_FILES,
    HangingError,
    UserCodeError,
    crashed_place,
    hanging_place,
)
from app.protocol.wrappers import EVALUATION_LIMIT, Wrappers

__all__ = [
    "ENVIRONMENT_FILE",
    "EVALUATION_FILE",
    "EVALUATION_LIMIT",
    "EVALUATION_SEEDS",
    "FRAME_SKIP",
    "LONGEST_CALL_S",
    "MAX_MAP_SIDE",
    "NO_FRAMESKIP",
    "REWARD_FILE",
    "SCHEDULE_FORMS",
    "STICKY_ACTIONS",
    "USER_CODE_FILES",
    "V5",
    "AtariProtocol",
    "Cell",
    "Channel",
    "Control",
    "Count",
    "EngineName",
    "FileName",
    "FrameHeader",
    "GridMap",
    "HangingError",
    "MetricName",
    "Number",
    "ObservationWrapper",
    "Request",
    "RewardChecked",
    "Schedule",
    "ScheduleMode",
    "Scored",
    "SeedFamily",
    "Term",
    "TryoutMode",
    "UserCodeError",
    "Wrappers",
    "confirmation_seed",
    "crashed_place",
    "file_frames",
    "hanging_place",
    "next_schedule_end",
    "plain_number",
    "read_file",
    "read_map",
    "read_schedule",
    "selection_seed",
    "two_rooms",
]
