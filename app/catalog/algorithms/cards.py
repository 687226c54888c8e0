"""For each algorithm: its idea, when to take it, and which values to change first."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmCard:
    """What somebody should know before choosing it."""

    idea: str
    when: str
    first: tuple[str, ...]
    """The hyperparameters to change first."""
    how: str
    """Into which direction."""


CARDS: dict[str, AlgorithmCard] = {
    "PPO": AlgorithmCard(
        idea="Acts for a while, goes over that experience a few times, and clips every update so "
        "that the new policy stays close to the old one.",
        when="A good first choice everywhere, above all where steps are cheap: it needs more of "
        "them than SAC, and each costs less.",
        first=("learning_rate", "n_steps", "ent_coef"),
        how="If it breaks down, lower learning_rate. If it gets stuck early, a little ent_coef "
        "keeps it exploring. If it wavers, collect more with n_steps.",
    ),
    "A2C": AlgorithmCard(
        idea="Updates once after every few steps, measuring each action against what its critic "
        "expected, and throws that experience away.",
        when="Simple tasks with fast environments. PPO is usually steadier for the same steps.",
        first=("learning_rate", "n_steps", "ent_coef"),
        how="If it breaks down, lower learning_rate or raise n_steps; if it settles too early, "
        "raise ent_coef.",
    ),
    "DQN": AlgorithmCard(
        idea="Learns from a memory of past steps what each action is worth in each state, and "
        "takes the best one.",
        when="Discrete actions where steps are expensive: every step is learned from many times.",
        first=("learning_rate", "exploration_fraction", "target_update_interval"),
        how="If it never finds the reward, explore longer with exploration_fraction. If what it "
        "expects runs away, lower learning_rate or raise target_update_interval.",
    ),
    "SAC": AlgorithmCard(
        idea="Seeks reward and surprise at once; two critics learn from a memory, and the more "
        "careful one counts.",
        when="Continuous actions where steps are expensive: it needs few of them, and each costs "
        "more than with PPO.",
        first=("learning_rate", "gradient_steps", "learning_starts"),
        how="More gradient_steps get more out of each step and take longer. How much surprise is "
        "worth it finds by itself.",
    ),
    "TD3": AlgorithmCard(
        idea="A policy without chance, with noise added to explore. Two critics and a policy that "
        "learns less often keep it from believing in luck.",
        when="Continuous actions with rewards on the way. Where rewards are rare, SAC explores "
        "better.",
        first=("action_noise", "learning_rate", "policy_delay"),
        how="If it does the same from the start, raise action_noise; if it trembles at the end, "
        "lower it.",
    ),
    "QRDQN": AlgorithmCard(
        idea="DQN that learns how returns are spread, as a row of quantiles, and not only their "
        "mean.",
        when="Discrete actions where luck plays a part. Often better than DQN, and slower.",
        first=("learning_rate", "exploration_fraction", "n_quantiles"),
        how="As with DQN; fewer n_quantiles make it faster.",
    ),
    "TQC": AlgorithmCard(
        idea="SAC whose critics predict how returns are spread and drop their most optimistic "
        "guesses.",
        when="Continuous actions, when the best score for a number of steps matters more than "
        "time.",
        first=("top_quantiles_to_drop_per_net", "learning_rate", "gradient_steps"),
        how="Drop more if it expects more than it gets, fewer if it is too timid.",
    ),
    "TRPO": AlgorithmCard(
        idea="Takes the largest step that keeps the new policy within a limit of the old one, "
        "found by a search along the best direction.",
        when="When steady progress matters more than speed. PPO is the quicker relative.",
        first=("target_kl", "n_steps", "n_critic_updates"),
        how="A larger target_kl makes bolder steps. If predictions lag behind "
        "(explained_variance stays low), raise n_critic_updates.",
    ),
    "RecurrentPPO": AlgorithmCard(
        idea="PPO whose network has a memory, so that it can act on what it saw before.",
        when="Where one observation doesn't tell all, such as hidden speeds. Elsewhere plain PPO, "
        "with frame_stack if need be, is much faster.",
        first=("learning_rate", "n_steps", "lstm_hidden_size"),
        how="As with PPO; n_steps should span what has to be remembered.",
    ),
    "MaskablePPO": AlgorithmCard(
        idea="PPO that leaves out the actions which the environment rules out at the moment.",
        when="Environments that say which actions are allowed, such as board games. Without that "
        "it is plain PPO.",
        first=("learning_rate", "n_steps", "ent_coef"),
        how="As with PPO.",
    ),
    "ARS": AlgorithmCard(
        idea="Tries random changes of the weights both ways, plays whole episodes, and moves "
        "towards those that did better. No gradients.",
        when="Simple control with rewards on the way, where a small or linear policy is enough.",
        first=("delta_std", "learning_rate", "n_delta"),
        how="If all tries score alike, raise delta_std. If it wavers, try more directions with "
        "n_delta.",
    ),
    "CrossQ": AlgorithmCard(
        idea="SAC with batch normalisation in its critics, which makes target networks "
        "unnecessary.",
        when="Continuous actions where steps are expensive. On a processor without graphics card "
        "each step is slow.",
        first=("learning_rate", "policy_delay", "learning_starts"),
        how="If it wavers, lower learning_rate first.",
    ),
}
