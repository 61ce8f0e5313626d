"""What is said, in each language: sentences with blanks. `replies.py` fills them in and decides which are said."""

from typing import Final

from msgspec import Struct

from taskyard.chat.parsed import Language, Missing
from taskyard.vocabulary import ChatCommand, Level, QueueState, Refusal, Status
from taskyard.vocabulary.reasons import Reason


class Phrases(Struct, frozen=True, kw_only=True):
    # Lists and spans.
    comma: str
    colon: str
    brackets: str
    days: str
    hours: str
    minutes: str
    seconds: str
    # A task's facts.
    queue: str
    model: str
    after: str
    position: str
    known: str
    priority: str
    goal: str
    levels: dict[Level | int, str]
    verbs: dict[ChatCommand, str]
    # Answers.
    added: str
    added_one: str
    repeated: str
    not_again: str
    would_add: str
    would_add_one: str
    would_do: str
    done: str
    failed: str
    stands: str
    ran: str
    runs: str
    tries: str
    tries_one: str
    queue_line: str
    queue_state: str
    queue_failed: str
    queue_empty: str
    try_again: str
    more: str
    nothing_open: str
    all_blocked: str
    blocked_by: str
    blocked: str
    not_understood: str
    acted: dict[ChatCommand, str]
    stopping: str
    also: str
    refused: str
    refused_otherwise: str
    refusals: dict[Refusal, str]
    """Empty: as the hub says it."""
    ended: str
    reasons: dict[Reason, str]
    """Empty: as `why` says it."""
    statuses: dict[Status, str]
    states: dict[QueueState, str]
    questions: dict[Missing, str]
    which_of: str


ENGLISH: Final = Phrases(
    comma=", ",
    colon=": ",
    brackets=" ({})",
    days="{} d",
    hours="{} h",
    minutes="{} min",
    seconds="{} s",
    queue="queue {}",
    model="model {}",
    after="after {}",
    position="position {}",
    known="was there already",
    priority="priority {}",
    goal="goal: {}",
    levels={},
    verbs={command: command.value for command in ChatCommand},
    added="Added {} tasks:",
    added_one="Added 1 task:",
    repeated="This message was sent before; of it there is:",
    not_again="Not done again: {}",
    would_add="This would add {} tasks:",
    would_add_one="This would add 1 task:",
    would_do="This would do: {}",
    done="{ref} is done: {summary}",
    failed='{ref} failed after {tries}: {error}{facts}. Say "retry {ref}" to try again.',
    stands="{ref} is {status}",
    ran="took {}",
    runs="for {}",
    tries="{} tries",
    tries_one="1 try",
    queue_line="{name}: {running} running, {waiting} waiting, {done} done lately",
    queue_state=", {}",
    queue_failed=", {} failed",
    queue_empty="  nothing open",
    try_again='  to try again: "retry {}"',
    more="  and {} more",
    nothing_open="Nothing of yours is open.",
    all_blocked="Every open task of yours is blocked. To go on:",
    blocked_by='- {ref} needs {by}: say "retry {first}", or "skip {ref}" or "cancel {ref}"',
    blocked='- {ref} needs {by}, which cannot be tried again: say "skip {ref}" or "cancel {ref}"',
    not_understood=(
        'That is neither a task nor a command. Say what should be done, or "add task: …"; '
        '"task status" tells how things stand.'
    ),
    acted={
        ChatCommand.CANCEL: "{ref} is cancelled",
        ChatCommand.RETRY: "{ref} is tried again",
        ChatCommand.SKIP: "{ref} is skipped",
    },
    stopping="{ref} is asked to stop",
    also=", and with it {}",
    refused="{command} {ref}: {detail}",
    refused_otherwise="",
    refusals={},
    ended="{ref} ended as {status}",
    reasons={},
    statuses={status: status.value.replace("_", " ") for status in Status},
    states={state: state.value for state in QueueState},
    questions={
        Missing.WHAT: 'What should be done? Say it in a sentence, such as "add task: summarise the logs".',
        Missing.AFTER_WHAT: 'After which task? Name it ("after T-003, …"), or tell both steps in one message.',
        Missing.WHICH_TASK: "Which task? Name it by its ref, such as T-003.",
        Missing.UNKNOWN_TASK: "You have no task {about}. Which task is meant? Name it by its ref, such as T-003.",
        Missing.AT_ONCE: "It can only be done at once. Is it meant for now? Then say it without a time or condition.",
        Missing.WHICH_MODEL: "No queue serves {about}. Which model should it be: {choices}?",
        Missing.WHICH_QUEUE: "There is no queue {about}. Which one should it be: {choices}?",
        Missing.MODEL_OF_QUEUE: "That queue does not serve {about}. Which model should it be: {choices}?",
        Missing.WHICH_PRIORITY: "There is no priority {about}. Should it be critical, high, normal, low, or 1 to 10?",
        Missing.FEWER: "That is too much for one message. Which of it first? Up to {tasks} tasks are possible at once.",
        Missing.SHORTER: "That is too long to read. Can you say it in {chars} characters?",
    },
    which_of="Two are named. Which one should it be: {choices}?",
)

CHINESE: Final = Phrases(
    comma="，",
    colon="：",
    brackets="（{}）",
    days="{} 天",
    hours="{} 小时",
    minutes="{} 分钟",
    seconds="{} 秒",
    queue="队列 {}",
    model="模型 {}",
    after="依赖 {}",
    position="位置 {}",
    known="之前已有",
    priority="优先级 {}",
    goal="目标：{}",
    levels={Level.CRITICAL: "最高", Level.HIGH: "高", Level.NORMAL: "普通", Level.LOW: "低"},
    verbs={
        ChatCommand.CANCEL: "取消",
        ChatCommand.RETRY: "重试",
        ChatCommand.SKIP: "跳过",
        ChatCommand.STATUS: "查看状态",
        ChatCommand.QUEUE: "查看队列",
    },
    added="已添加 {} 个任务：",
    added_one="已添加 1 个任务：",
    repeated="此消息之前已发送过，其任务为：",
    not_again="不再重复执行：{}",
    would_add="将添加 {} 个任务：",
    would_add_one="将添加 1 个任务：",
    would_do="将执行：{}",
    done="{ref} 已完成：{summary}",
    failed="{ref} 在{tries}后失败：{error}{facts}。说“重试 {ref}”可再试一次。",
    stands="{ref} {status}",
    ran="用时 {}",
    runs="已 {}",
    tries=" {} 次尝试",
    tries_one=" 1 次尝试",
    queue_line="{name}：{running} 个运行中，{waiting} 个等待中，最近完成 {done} 个",
    queue_state="，{}",
    queue_failed="，失败 {} 个",
    queue_empty="  没有未完成的任务",
    try_again="  再试一次：“重试 {}”",
    more="  还有 {} 个",
    nothing_open="你没有未完成的任务。",
    all_blocked="你所有未完成的任务都被阻塞了。要继续：",
    blocked_by="- {ref} 需要 {by}：说“重试 {first}”，或“跳过 {ref}”“取消 {ref}”",
    blocked="- {ref} 需要 {by}，而它不能重试：说“跳过 {ref}”或“取消 {ref}”",
    not_understood="这既不是任务也不是命令。请直接说要做什么，或说“新任务：…”；“任务状态”可查看情况。",
    acted={
        ChatCommand.CANCEL: "{ref} 已取消",
        ChatCommand.RETRY: "{ref} 将重试",
        ChatCommand.SKIP: "{ref} 已跳过",
    },
    stopping="{ref} 正在停止",
    also="，一并取消 {}",
    refused="{command} {ref}：{detail}",
    refused_otherwise="暂时无法{verb}（{code}），请稍后再试。",
    refusals={
        Refusal.TASK_NOT_FOUND: "你没有任务 {ref}。",
        Refusal.TASK_ALREADY_COMPLETED: "{ref} 已完成，不能{verb}。",
        Refusal.INVALID_TRANSITION: "{ref} {status}，不能{verb}。",
    },
    ended="{ref} {status}",
    reasons={
        Reason.NOT_BEFORE: "还没到开始时间。",
        Reason.DEPENDENCY_UNFINISHED: "它依赖的 {limit} 个任务已完成 {used} 个。",
        Reason.DEPENDENCY_FAILED: "它依赖的任务没有成功：{failed}。",
        Reason.BREAKER_OPEN: "这类任务接连失败，已暂停启动。",
        Reason.BREAKER_PROBING: "正用一个同类任务试探，其余等待结果。",
        Reason.QUEUE_PAUSED: "队列已暂停。",
        Reason.QUEUE_FULL: "队列已满：{used}/{limit} 个任务在运行。",
        Reason.QUEUE_COOLING: "模型提供方限流，队列正在冷却。",
        Reason.QUEUE_PROBING: "限流之后，队列正在试一个任务。",
        Reason.USER_CONCURRENCY: "你同时运行的任务已达上限：{used}/{limit}。",
        Reason.USER_HOURS: "本月的运行时长已用完。",
        Reason.SOURCE_CONCURRENCY: "此来源同时运行的任务已达上限：{used}/{limit}。",
        Reason.PRIORITY_SHARE: "此优先级的名额已用完。",
        Reason.CRITICAL_RESERVE: "剩下的名额留给最高优先级的任务。",
        Reason.LOW_CAP: "低优先级任务同时运行的数量已达上限。",
        Reason.HUB_FULL: "同时运行的任务总数已达上限。",
        Reason.EXCLUSIVE_HELD: "另一个互斥的任务正在运行。",
        Reason.WAITS_ALONE: "它须单独运行，正在等待空闲的守护进程。",
        Reason.PREEMPTING: "正在为它腾出位置。",
        Reason.AWAITING_ACCEPT: "已分配，等待守护进程接受。",
        Reason.AWAITING_START: "守护进程已接受，等待开始。",
        Reason.CANCELLING: "正在停止。",
        Reason.NO_DAEMON: "你还没有守护进程连接过，也没有共享的守护进程。",
        Reason.NO_ELIGIBLE_DAEMON: "没有守护进程能运行它。",
        Reason.NO_FREE_SLOT: "能运行它的守护进程都没有空位。",
        Reason.BEHIND_OTHERS: "前面还有 {used} 个任务。",
    },
    statuses={
        Status.PENDING: "待定",
        Status.WAITING: "等待依赖",
        Status.BLOCKED: "被阻塞",
        Status.QUEUED: "排队中",
        Status.SCHEDULED: "已分配",
        Status.RUNNING: "运行中",
        Status.FAILED: "失败",
        Status.TIMEOUT: "超时",
        Status.PERMANENTLY_FAILED: "彻底失败",
        Status.SKIPPED: "已跳过",
        Status.COMPLETED: "已完成",
        Status.CANCELLED: "已取消",
        Status.STALE: "已过期",
    },
    states={QueueState.OPEN: "开放", QueueState.PAUSED: "已暂停", QueueState.COOLING: "冷却中"},
    questions={
        Missing.WHAT: "要做什么？请用一句话说明，例如“新任务：总结日志”。",
        Missing.AFTER_WHAT: "在哪个任务之后？请写明（“T-003 完成后…”），或把两步写在同一条消息里。",
        Missing.WHICH_TASK: "哪个任务？请写出编号，例如 T-003。",
        Missing.UNKNOWN_TASK: "你没有任务 {about}。是哪个任务？请写出编号，例如 T-003。",
        Missing.AT_ONCE: "这只能立即执行。现在就要吗？那请去掉时间或条件再说一遍。",
        Missing.WHICH_MODEL: "没有队列提供 {about}。要用哪个模型：{choices}？",
        Missing.WHICH_QUEUE: "没有队列 {about}。要用哪个：{choices}？",
        Missing.MODEL_OF_QUEUE: "该队列不提供 {about}。要用哪个模型：{choices}？",
        Missing.WHICH_PRIORITY: "没有优先级 {about}。要用哪个：1 到 10 的数字，或最高、高、普通、低？",
        Missing.FEWER: "一条消息里太多了。先做哪些？一次最多 {tasks} 个任务。",
        Missing.SHORTER: "消息太长。能在 {chars} 个字符内说明吗？",
    },
    which_of="说了两个。要用哪个：{choices}？",
)

PHRASES: Final = {Language.ENGLISH: ENGLISH, Language.CHINESE: CHINESE}
