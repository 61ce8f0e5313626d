"""How work is asked for in Chinese, and what only sounds like it. Tables alone: `intent.py` says what they mean."""

import re
from typing import Final

from taskyard.chat.lexicon import REFS, one_of
from taskyard.vocabulary import ChatCommand, Level

# Around a request, and no part of the work.
GREETING: Final = re.compile(
    one_of(
        """你好 您好 嗨 嘿 哈喽 哈啰 早上好 早安 早 下午好 晚上好 大家好 在吗 喂 好的? 嗯+ 那么? 对了 另外 还有
        顺便说一下 顺便问一下 谢谢 谢谢你 谢谢您 多谢 感谢 不好意思 打扰一下 打扰了 抱歉 是的 可以 没问题 行
        辛苦了? 收到 明白了? 太好了 很好 不错"""
    )
    + r"(?:啊|呀|哦|哈|了)?[,!.;:~。\s]{1,4}"
)
ASIDE: Final = re.compile(
    r"(?:如果|要是)?(?:你|您)?(?:(?:有空|有时间|方便)(?:的话|的时候|时)?|可以的话)\s?,?\s?(?:就|请)?"
)
_PLEASE: Final = "请(?!" + one_of("问 教 客 假 坐 进来 稍 等 放心 多 勿 别 不 原谅 注意 记住 回 吃 喝 看这 看我") + ")"
_ABLE: Final = one_of("能不能 能否 可不可以 可否 能 可以 是否可以 可以不可以")
_ANSWER: Final = (
    rf"(?:你|您)?{_ABLE}(?:请|麻烦)?(?:帮|给|替|跟|向)?(?:我们?)?(?:解释|讲解|介绍|推荐|说说|讲讲)"
    r"[^。!?]{0,80}(?:[吗么]|\?)"
)
"""Asked of a person, it is answered and not worked on."""
POLITE: Final = re.compile(
    rf"(?!{_ANSWER})(?:{_PLEASE}(?:你|您|大家|先)?|麻烦(?!了|大|死|您了|你了)(?:你|您|大家)?|劳驾(?:您)?,?|拜托(?:你|您)?,?"
    r"|(?:我们?)?(?:想|要|需要|希望)(?:请|让|叫)?(?:你|您)(?:能|可以)?(?:帮|给|替)?(?:我们?)?"
    rf"|(?:你|您)?{_ABLE}?(?:请|麻烦)?(?:你|您)?(?:帮|替)(?:我们?|忙|下|个忙)(?:一下|来)?,?"
    r"|(?:你|您)(?:来|去|就)?(?:给|替|为)我们?|(?:你|您)(?:去|来)(?=[写做改修查跑分整翻总生测部更清])|给我(?!们?的|看|说|打|讲|等|闭|一?点|时间|个)|帮忙(?!了))\s{0,2}"
)
ABLE: Final = re.compile(rf"(?!{_ANSWER})(?:你|您)?{_ABLE}\s?")
COURTESY: Final = re.compile(
    r"[\s,.!。;~]{0,3}"
    + one_of(
        """谢谢 谢谢你 谢谢您 谢谢啦 谢谢了 多谢 感谢 辛苦了? 辛苦啦 辛苦你了 辛苦您了 拜托了? 拜托啦 麻烦了
        麻烦你了 麻烦您了 好吗 好不好 可以吗 行吗 行不行 可不可以 吧 呗 哦 哈 啊 🙏"""
    )
    + r"[\s.!?。~]{0,4}$"
)
ADVERB: Final = re.compile(
    one_of(
        r"""先 再 都 也 快 尽快 赶紧 马上 立刻 立即 现在 今天 明天 今晚 每[天周月日年] 早上 上午 中午 下午 晚上
        \d{1,2}点 继续 重新 一起 一次性 顺便 接下来 另外 最好 直接 简单 仔细 认真 快去 \s"""
    )
)

# What makes a task of whatever follows.
_TASK: Final = "(?:任务|待办|工作)"
_COLON: Final = r"\s?(?:[:,-]\s{0,2}|$)"
MARKER: Final = re.compile(
    rf"(?:添加|新增|新建|创建|增加|加入?|建立?|排|提交|安排|登记|记)(?:一下)?[一几两三多]?(?:个|项|条|份|些)?(?:新的?)?{_TASK}"
    rf"(?:到队列)?(?:给你)?(?:{_COLON}|\s{{0,2}}(?=\S))|(?:新|下一个|另一个)的?{_TASK}(?:{_COLON}|\s{{1,2}}(?=\S))"
    r"|(?:(?:还?有|给你)一?个(?:新?)|下一个)?(?:任务|待办|待办事项|任务是)\s?[:-]\s{0,2}"
    rf"|(?:加入|加到|放进|放入|排进)队列{_COLON}|(?:排队|入队)\s?[:,-]\s{{0,2}}"
    r"|(?:做|处理|办|搞定|完成|执行)(?:一下)?(?:这个|这些|以下|下面|这件|这几件|下列)的?(?:任务|事情?|工作|几件事)?(?:一下)?"
    rf"{_COLON}"
)

# What begins an imperative.
VERBS: Final = (
    one_of(
        """分析 取出 解析 更换 修补 变更 设定 登记 归类 归并 采购 订阅 退订 联系(?!方式|我|不) 跟进 追踪 跟踪 封锁
        解锁 锁定 冻结 制订 编制 编排 排版 裁剪 截图 录制 上线 下线 发表 通报 邀请 安排(?=会议|一) 预约 汇编 摘录
        摘抄 引用 去重 补录 回访 巡检 轮换 续费 缴纳 催收 核验 比对 复查 抽查 总结 概括 归纳 汇总 统计 整理 收集
        搜集 采集 抓取 爬取 下载 上传 翻译 撰写 编写 起草 生成 制作 创建 新建 建立 构建 搭建 设计 实现 开发 重构
        优化 修复 修改 修正 更新 升级 删除 删掉 清理 清空 移除 去除 添加 增加 补充 检查 审查 审核 审阅 校对 核对
        核实 验证 测试 调试 排查 诊断 监控 部署 发布 回滚 备份 恢复 还原 迁移 同步 合并 拆分 转换 转成 转为 导出
        导入 提取 抽取 处理 计算 预测 评估 评价 评审 对比 比较 调研 研究 调查 查找 筛选 过滤 分类 标注 标记 排序
        绘制 画出 渲染 压缩 解压 安装 配置 设置 启动 运行 执行 发送 通知 回复 答复 提交 推送 拉取 克隆 扫描 加密
        解密 格式化 重命名 续签 续订 签署 签发 办理 申请 打印 脱敏 打码 匿名化 去噪 降噪 抠图 调色 上色 加水印 去水印
        关停 停用 启用 禁用 腾空 腾出 补发 重发 重置 重装 重跑 清除 清点 对账 结算 开票 汇款 打标 打分 评分 上架
        下架 上报 申报 填写 填报 录入 校验 校准 刷新 预热 扩容 缩容 切换 切分 拼接 裁切 缩放 放大 缩小 旋转 转写
        转码 解码 缩短 精简 简化 补齐 撤回 回退 回收 释放 分发 派发 群发 转发 公布 公示 联调 压测 复现 定位 建模
        拟合 聚类
        复制 移动 列出 列举 写出 改写 重写 润色 缩写 扩写 续写 记录 打包 编译 训练 微调 梳理
        盘点 复盘 规划 制定 准备 完善 改进 调整 替换 重启 关闭 开启 查询 归档 转录 听写 摘要 提炼 汇报 报告一下
        演示 模拟 抄送 编辑 剪辑 拟定 草拟 罗列 核算 测算 估算 预估 挑选 选出 找出 找到 算出 做出 查看 拆解 识别
        检测 清洗 聚合 改成 改为 译成 发给 发到 发邮件 发消息 画图 建表
        (?:画|做|跑|发|列|建|改|查)(?:一|个|份|张|封) (?:做|跑)(?:完|好) 跑(?=[a-z\\s测批])
        (?:搭|弄|拟)(?:一个|个|一份|份)(?!小时) 安排一[次下] 催一下 修(?=\\s?[a-z]|一下|个) 补(?:全|写|上|一下)
        看(?:一下|看)(?=为什么|为何|这个|日志|代码|报错|错误|数据|配置|接口|文档|邮件|\\s?[a-z])"""
    )[:-1]
    + "|写(?![得的了过错作真字手法好给信]|代码是|报告是))"
)
WORK: Final = re.compile(VERBS)
SOME_WORK: Final = re.compile(
    r"(?!.{0,40}?(?:[不没无已了很太崩挂坏满错]|失败|失效|故障|异常|中断|报警|告警|开会|会议|放假|截止"
    r"|快到|.是|.有))[\u4e00-\u9fff]{2}"
)
"""What could begin with any verb, and reports no trouble."""
WITH_OBJECT: Final = re.compile(
    rf"(?:把|将|对|给|为|从|根据|按照?|针对|基于|用)\s?(?:[^,。.!?;]|\.(?=\d)){{1,60}}?(?:{VERBS}|[写做画发删改译存传移修算列跑])"
)
NEEDS: Final = re.compile(
    r"(?:我们?|现在)?(?:需要|想要|要|来)[一两几]?(?:份|个|篇|张|段|封|套|些)[^,。!?]{0,30}"
    + one_of(
        """报告 总结 摘要 分析 列表 清单 图表 表格 翻译 草稿 大纲 计划 方案 脚本 测试 设计 文档 邮件 文章 评审 对比
        估算 预测 幻灯片 ppt 周报 日报 月报 代码 函数 页面 网站 查询 说明 介绍 文案"""
    )
)

CONDITION: Final = re.compile("(?:如果|若|要是|一旦|当|每当)[^,。.!?]{1,60}(?:,|就)(?:就|请)?")

# What sounds like work and is none.
REMARK: Final = re.compile(
    VERBS
    + one_of(
        """得 写得 做得 表明 证明 过了 好了 完了 了 通过 失败 成功 完成 已经?
        正常 结果 不错 很 真 太 会议(?!纪要|记录|内容|要点)
        工作(?!流|日志|计划|内容) 过程 能力 是 都是 还没 没有 没问题 不准 不了 不对 不起来 不动 有误
        出错 报错 有问题 卡住 怎么 什么 如何"""
    )
    + "|[^,。为怎什]{2,12}(?:很|太|真|非常|挺)(?:好|棒|难|累|烦|无聊|有趣|麻烦|简单|重要|辛苦|顺利)[了啊呢]?[!。]?$"
    + r"|(?:总结|通知|更新|汇报|记录|摘要|评价)\s?:"
)
TALK: Final = re.compile(
    one_of(
        """一切 身体 早日 开心 喜欢 明白 理解 知道 满意 等 问 告诉 说 讲 原谅 坐 进 稍 放心 别 不要 不用 记住 记得
        注意 提醒 吃 喝 休息 多多 加油 听 看看我 猜 相信 回家 睡 来 去 走 保重 节哀 指教 关照 忽略 一下$ 个忙$
        叫(?:车|外卖) 订 买 点(?:餐|外卖) 拿 带 倒 递 开门 设一?个闹钟 定一?个闹钟 约 预约 预订
        查(?:一?下)?(?:天气|时间|新闻|汇率|股价|日期|航班) 搜(?:索|一?下) 百度 谷歌 上网"""
    )
)
SMALL_TALK: Final = re.compile(one_of("天气 几点 星期几 什么时候 笑话 吃饭 午饭 晚饭 咖啡 闹钟 航班 股价 汇率"))
ENDS_ASKING: Final = re.compile(
    one_of("吗 呢 么 没有 没 不 多少 什么 谁 哪里 哪儿 几点 为什么 怎么办 怎么样 如何 咋样 咋办") + r"\s?[?.!。~]{0,4}$"
)
DONE: Final = re.compile("(?:过了?|了)[吗没]?有?$")
"""Whether something was done, or that it was."""
ASKED: Final = re.compile("[吗么嘛]$")
ASKING: Final = re.compile(
    one_of(
        """请问 为什么 为何 怎么 怎样 如何 什么 谁 哪 几点 几个 多少 是不是 有没有 会不会 要不要 你觉得 你知道
        你认为 你会 你是 能不能告诉 可以告诉 何时 难道 是否 应该 该不该 能否告诉 你能告诉 听说 知不知道"""
    )
)
SPEAKER: Final = re.compile(
    one_of("我 咱 你 您 他 她 它 大家 这 那 有人 没人 今天天气 昨天 刚才 刚刚 上周 已经 终于 真 好 太 很 不 没 别 有")
)
NEGATED: Final = re.compile(one_of("不要 不用 不必 别 甭 勿 先别 请勿 请不要 请别 暂时不 没必要"))
PLEASANTRY: Final = re.compile(
    one_of("希望 一切 祝 今天天气 天气 周末 节日 新年 好久不见 哈 真 太 很高兴 辛苦 打扰 谢 又是我 恭喜 做得 干得 写得")
)
"""Said before a request, and no part of it."""

# Questions about how things stand.
_SHOW: Final = one_of("查看 查询 查 显示 列出 看看 看 给我看看? 告诉我 说说 汇报 报告") + "(?:一下|下)?"
_MY: Final = one_of("现在 当前 目前 所有 全部 我的 我 的 整个 各个 今天 一下") + "{0,4}"
_STATE: Final = one_of("状态 情况 进度 进展 状况 列表 概况")
_HOW: Final = one_of(
    """怎么样 如何 怎样 咋样 是什么 是啥 什么样 啥样 (?:什么|啥)(?:情况|状态) 到哪了? 到哪一?步了? 有哪些 有什么
    有多少 还有多少 还剩多少 多少"""
)
_THING: Final = one_of("任务队列 队列任务 任务 队列 排队 工作")
_COUNT: Final = "(?:还|总共|一共)?[有剩](?:多少|几个|哪些|什么)(?:个?任务)?"
_END: Final = "[了呢啊吧吗啦呀嘛哦哈呗没]{0,3}"
STATUS: Final = re.compile(
    rf"(?:{_SHOW})?{_MY}{_THING}?的?{_STATE}(?:{_HOW})?{_END}|{_SHOW}{_MY}{_THING}{_END}"
    rf"|{_MY}{_THING}(?:现在|目前|都|跑|做|干|进行|进展|得|的){{0,4}}{_HOW}{_END}|队列"
    rf"|{_MY}队列[里中]?{_COUNT}{_END}"
    rf"|{_MY}有没有(?:失败|卡住|被?阻塞|运行|排队|等待)中?的?任务{_END}"
    rf"|{_MY}(?:有)?(?:哪些|什么|哪个)任务(?:失败|出错|完成|卡住|被阻塞)了?{_END}"
    rf"|{_MY}任务(?:都|全部)?(?:跑完|完成|做完|结束)了?(?:吗|没有?)"
    rf"|{_MY}还?(?:有|剩)(?:哪些|什么|啥|多少|几个)(?:任务)?还?(?:正?在|没)?(?:跑|运行|排队|等待|执行|做|完成|队列里|剩)?完?{_END}"
    rf"|{_MY}(?:正?在)?(?:跑|运行|执行|做)着?(?:哪些|什么|啥)(?:任务)?{_END}"
)
STATUS_OF_QUEUE: Final = re.compile(
    rf"(?:{_SHOW})?{_MY}\s?(?:(?P<name>\S.*?)\s?的?队列[里中]?(?:现在|目前)?的?(?:{_STATE}|{_HOW}|{_COUNT})?"
    rf"|队列\s?(?P<after>[a-z0-9]\S*?|远程|本地|云端?|默认)\s?的?(?:{_STATE}|{_HOW})?){_END}"
)
STATUS_OF_TASK: Final = re.compile(
    rf"(?P<asks>{_SHOW}|为什么|为何)?{_MY}\s?(?P<refs>{REFS})\s?(?P<about>"
    + one_of(
        r"""的 任务 现在 目前 没 没有 还 在 正在 不 状态 情况 进度 进展 怎么样 怎么 如何 怎样 咋样 到哪 一步 步
        完成 做完 跑完 弄好 弄完 搞定 搞好 跑 运行 进行 进展 得 情况 什么 啥 失败 开始 结束 执行 卡住 被 阻塞
        为什么 好 了 吗 呢 吧 啦 呀 嘛 啊 哦 么 一下 \s"""
    )
    + "{0,10})"
)

NOT_A_QUEUE: Final = re.compile(
    one_of(
        """服务器 主机 机器 仓库 桌面 连接 办公 文件 数据库 存储 磁盘 分支 环境 团队 员工 网络 备份 缓存 目录 电脑
        会议 控制 文档 代码 终端"""
    )
)
"""After a queue's name: then the word is about something else."""
EITHER: Final = re.compile(r"\s?(?:或者?|还是)\s?(?:用\s?)?")

# How urgent a task is, and what it is for.
LEVELS: Final = (
    dict.fromkeys(("不急", "不着急", "不紧急", "最低"), Level.LOW)
    | dict.fromkeys(("最高", "紧急", "加急", "急"), Level.CRITICAL)
    | dict.fromkeys(("高", "重要", "优先处理"), Level.HIGH)
    | dict.fromkeys(("中", "普通", "正常", "一般"), Level.NORMAL)
    | {"低": Level.LOW}
)
"""By the first of these words that a priority has in it."""
_LEVEL: Final = "(?:最高|最低|高|中等?|低|普通|正常|一般|紧急)"
_PRIORITY: Final = (
    rf"(?:{_LEVEL}的?(?:优先级?|优(?=[\s:,\])]|$))"
    rf"|优先级?\s?(?:[:=]|为|是|设为|设成|设置为|调到|调成|定为)?\s?(?:{_LEVEL}|\d{{1,9}})级?)"
)
_URGENT: Final = one_of("紧急 加急 特急 十万火急 急 重要 不太?急 不着急 不紧急 优先处理")
_STATED: Final = (
    r"(?:(?:这个|这件事情?|这|此事|任务|它|事情)(?:任务|是)?)?(?:很|非常|比较|最|特别|十分|有点)?"
    + f"(?:{_PRIORITY}|{_URGENT})的?"
)
PRIORITY_FIRST: Final = (
    re.compile(
        rf"(?P<p>[\[(]?\s?(?:{_STATED}(?:处理|办理)?|(?<=\[){_LEVEL}(?=\]))\s?(?:[\])]\s?[:,]?|[:,!。.]{{1,3}}|$)\s{{0,3}})"
    ),
    re.compile(
        r"(?:(?:添加|新增|新建|创建|增加|加|建|提交|安排|来)(?:一下)?(?:一?[个项条])?(?:新的?)?)?"
        rf"(?P<p>(?:很|非常)?(?:{_PRIORITY}|紧急|加急|重要)的?(?:任务\s{{1,2}}(?={VERBS})|(?=新?(?:任务|待办))))"
    ),
    re.compile(
        rf"(?P<p>(?:以|用|按)?{_PRIORITY}(?:地|来|去)?\s?|(?:紧急|加急|特急)(?!通知)\s?)(?={VERBS}|帮|[写做画跑])"
    ),
)
PRIORITY_LAST: Final = (
    re.compile(rf"(?P<p>(?:[,;\s(\[。]|并且?)\s?(?:以|用|按)?{_STATED}(?:处理|执行|完成)?\s?[\])]?)\s?[。.!]{{0,3}}$"),
)
GOAL: Final = re.compile(r"(?:^|\s?[(,;。\n]\s?)(?:任务)?(?:目标|目的)(?:是)?\s?:\s?(?P<goal>\S.*?)\)?$", re.DOTALL)

# What stands before a list.
ORDERED: Final = re.compile("依次|按照?(?:以下|下列|这个)?顺序|逐一|逐个|顺序执行")
LEADS: Final = re.compile(one_of("任务 待办 以下 下面 下列 这些 这几 几件 两件 三件 做 完成 处理 安排 步骤 帮 请 需要"))
TELLS: Final = re.compile(
    one_of("昨天 上周 已完成 做了 完成了 完成的 做过 喜欢 原因 优点 缺点 议程 笔记 为什么 买 购物 爱好")
)
GENERIC: Final = re.compile("做|处理|完成|执行|安排|办|搞定|跑|运行")
ITEMS: Final = re.compile(
    "(?:以下|下面|下列|如下|这(?![样么里边时]))的?+这?+[几些两三四五六七八九十\\d]{0,2}+[个篇份张条项位件封段家种款台本幅句]?+的?+"
    "([^\\s,:。的][^:。]{0,30})"
)
VAGUE: Final = re.compile(".{0,2}(?:任务|待办|工作|事(?![故件实务])|步骤)|操作|改动|修改|顺序|流程|方式|要求|需求|功能")

# What is commanded, and where a task goes.
COMMANDS: Final = {
    ChatCommand.CANCEL: one_of("取消 终止 停止 中止 撤销 停掉 杀掉 删除 删掉"),
    ChatCommand.RETRY: one_of("重试 重新运行 重新执行 重新跑 重新开始 重跑 重做 再试 再试一次 再跑 再跑一次 再跑一遍"),
    ChatCommand.SKIP: one_of("跳过 略过 忽略"),
}
STEP_ON_IT: Final = re.compile(
    one_of("终止 停止 停掉 杀掉 删除 删掉 重新运行 重跑 重做")
    + "(?:掉|一下)?(?:它们?|这[个些]|那[个些]|所有|全部)(?!.*任务)"
)
IT: Final = (
    "(?:掉|一下)?"
    + one_of("它们? 这个 那个 这些 那些 上一个 刚才的? 最后一个 所有的? 全部的? 任务")
    + r"{0,3}(?:吧|一下)?"
)
SEND: Final = one_of(
    """交给 交由 发给 发到 发送到 发送给 送到 提交到 提交给 放到 放进 放入 丢给 丢到 派给 分配给 分给 转给 加到
        加入到? 排到"""
)
THESE: Final = (
    r"(?:做|处理|跑|执行)?(?:这个|那个|它|该|(?P<many_zh>这些|那些|它们|都|全部|所有|以上|上面)(?:都)?)(?:任务)?"
)
"""Tasks that were named before."""
THIS: Final = r"(?:(?:这个|这些|这|它们?|以下|下面的?|该|此|所有|全部)?(?:任务|工作|事情?)?(?:都|全部)?\s?)"
NAMES: Final = {
    "远程": "remote",
    "本地": "local",
    "本机": "local",
    "云端": "cloud",
    "云上": "cloud",
    "云": "cloud",
    "英伟达": "nvidia",
    "默认": "default",
    "通义千问": "qwen",
    "千问": "qwen",
}
"""How names that are written in Latin letters are said in Chinese; the longer one first."""
NAME: Final = re.compile("|".join(NAMES))
TO: Final = re.compile(r"\s?(?:来|去)")
"""After a model that is used for something."""

# What comes after something else.
ENDS: Final = r"\s{0,2}(?:任务)?(?:都|全部)?(?:完成|结束|做完|跑完|运行完|执行完|成功|好)"
THEN: Final = (
    one_of(
        """并?然后 接着 接下来 随后 紧接着 并?据此 之后 其次 下一步 第[二三四五六七八九十2-9]步(?![的是中里内])
        并?且?完成之?后 做完之?后 做好之?后 跑完之?后 结束之?后 基于此 在此基础上 根据结果 根据这个结果
        根据上面的?结果 最后(?![一两几个的期终面])"""
    )
    + "[再就]?"
)
ALL_DONE: Final = "(?:全部|都|所有任务?都?)(?:完成|做完|结束|跑完)了?之?后[再就]?"
AGAIN: Final = "再(?![见会次来说三])"
FIRST_AND_THEN: Final = re.compile(rf"\s?(?:{AGAIN}|最后(?![一两几个的期终面]))")
FIRST: Final = re.compile("(?:请|帮我|麻烦你?|你|我们)?(?:首先|先)")

# Letters and numerals.
TRADITIONAL: Final = (
    "後著務狀態隊幫請寫總結譯報檢執數據謝麼嗎樣遠雲關於賴試過這個與複顯現進發為會時們給讓應資錄測編輯優類讀動啟開對從將裡說話聽"
    "無還沒問題錯誤復圖畫標準備郵訊網頁連線並產單雙點繼續須隨實邊長門員業樂電項設計調條營運轉換導檔別齊畢輸內兩跳過認證閉創構築"
)
SIMPLIFIED: Final = (
    "后着务状态队帮请写总结译报检执数据谢么吗样远云关于赖试过这个与复显现进发为会时们给让应资录测编辑优类读动启开对从将里说话听"
    "无还没问题错误复图画标准备邮讯网页连线并产单双点继续须随实边长门员业乐电项设计调条营运转换导档别齐毕输内两跳过认证闭创构筑"
)
HAN: Final = "一二三四五六七八九十"
STEP: Final = rf"(?:步骤\s?[\d{HAN}]{{1,3}}|第\s?[\d{HAN}]{{1,3}}(?:步|(?=\s?[:,、])))"
CIRCLED: Final = "①-⑳⑴-⒇⒈-⒛❶-❿"
"""For a class of letters in an expression: numerals with their own sign around them."""
KEYCAP: Final = "\ufe0f?\u20e3"
"""After a number, it puts a key around it: 1️⃣."""
NUMERALS: Final = {letter: number for number, letter in enumerate(HAN, 1)} | {
    chr(code): code - ord(first) + 1
    for first, last in zip(CIRCLED[::3], CIRCLED[2::3], strict=True)
    for code in range(ord(first), ord(last) + 1)
}
