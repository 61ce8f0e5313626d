"""What is said, in each language: sentences with blanks. `replies.py` fills them in and decides which are said."""

from typing import Final

from msgspec import Struct

from taskyard.chat.parsed import Language, Missing
from taskyard.vocabulary import ChatCommand, QueueState, Status


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
    queue_empty: str
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
    queue_empty="  nothing open",
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
    statuses={status: status.value.replace("_", " ") for status in Status},
    states={state: state.value for state in QueueState},
    questions={
        Missing.WHAT: 'What should be done? Say it in a sentence, such as "add task: summarise the logs".',
        Missing.AFTER_WHAT: 'After which task? Name it ("after T-003, …"), or tell both steps in one message.',
        Missing.WHICH_TASK: "Which task? Name it by its ref, such as T-003.",
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
    queue_empty="  没有未完成的任务",
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
