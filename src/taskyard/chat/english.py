"""How work is asked for in English, and what only sounds like it. Tables alone: `intent.py` says what they mean."""

import re
from typing import Final

from taskyard.chat.lexicon import REFS, one_of, whole, words_of
from taskyard.vocabulary import ChatCommand, Level

# Around a request, and no part of the work.
_HELLO: Final = one_of("hey hi hello hiya yo ok okay alright well so now also and but oh um hm+ btw")
_HELLO_ALONE: Final = one_of(
    """greetings good_(?:morning|afternoon|evening|day) morning dear all_right right sure great cool nice
        perfect awesome thanks thanks_a_lot thanks_so_much thank_you thank_you_so_much thank_you_very_much thx
        cheers yes yeah yep sorry excuse_me by_the_way one_more_thing actually"""
)
"""These may be about what follows, unless a sign separates them: "nice work"."""
_WHO: Final = one_of("there team all everyone everybody folks guys friend bot taskyard again then")
GREETING: Final = re.compile(
    rf"(?:{_HELLO}|{_HELLO_ALONE})(?:\s{_WHO})?(?:[,!.;:]{{1,3}}\s{{0,3}}|\s-\s)|{_HELLO}(?:\s{_WHO})?\s(?=\S)"
    r"|[@/]taskyard[,:]?\s"
)
_FREE: Final = (
    r"(?:have (?:time|a (?:moment|minute|chance|second|sec))|get (?:a chance|time|to it)|can|could|are free|like)"
)
ASIDE: Final = re.compile(
    rf"(?:if (?:you (?:{_FREE}|don't mind|want)|possible|that's ok(?:ay)?)|when(?:ever)? you {_FREE}"
    r"|at your convenience|for me|this time)\s?,?\s"
)
PLEASE: Final = r"(?:pl[ea]{0,5}[sz]{1,4}e{0,3}|pli[sz]|p(?:ela|ale|lsea|lesa)se?|pleaes)"
"""However it is typed."""
_YOU: Final = "(?:you|u|ya)"
_COULD: Final = "(?:can|could|would|will|cud|cld|coud|wud|wld)"
_KINDLY: Final = "kindl?e?y"
_JUST: Final = rf"(?: (?:{PLEASE}|{_KINDLY}|maybe|possibly|perhaps|also|just|quickly|now|then|go ahead and))*"
_ANSWER: Final = (
    r"(?:explain|describe|recommend|suggest|clarify|define|elaborate|(?:show|teach) (?:me|us) how)\s"
    r"(?![^?!]{0,160}\s(?:in|to|as|into|for)\s"
    r"(?:an?|the|our|my)\s(?:\w+\s)?(?:file|document|doc|report|readme|wiki|page|e-?mail|slide|post|team|customer|client))"
)
"""Asked of a person, it is answered and not worked on, unless it is to be written down."""
POLITE: Final = re.compile(
    rf"(?:(?:{PLEASE}|{_KINDLY})[,\s]\s?"
    rf"|(?:would|will|are) {_YOU} (?:be )?able to{_JUST}\s"
    rf"|(?:(?:{_COULD}|do) {_YOU} )?mind{_JUST}\s(?=[a-z]{{2,20}}ing\s)"
    rf"|(?:(?:i|we)(?: was|'m| am|'re| were) )?hoping (?:that )?you (?:can|could|would){_JUST}\s"
    rf"|(?:any|is there any) chance (?:that )?you (?:can|could){_JUST}\s|why don't you{_JUST}\s|need you to{_JUST}\s"
    rf"|{_COULD} (?:{_YOU}|someone|somebody|anyone){_JUST},?\s(?!{_ANSWER})"
    rf"|(?:i|we)(?:'?d| would)? (?:need|want|like|love|wish|expect) (?:for )?{_YOU} to{_JUST}\s"
    rf"|(?:i|we)(?:'d| would) (?:like|love|appreciate|be grateful)(?: it)? if you (?:could|would|can){_JUST}\s"
    rf"|it(?: would|'d) be (?:great|nice|good|awesome|helpful|lovely) if you (?:could|would){_JUST}\s"
    r"|(?:be so kind (?:as )?to|do me a favou?r(?: and|,|:)|go ahead and|feel free to|help (?:me|us)(?: to)?"
    r"|your (?:task|job) is to)\s)"
)
_THANKS: Final = (
    r"(?:many )?(?:thanks|thanx|thnx|tnx|thx|thank ?(?:you|u))(?: a lot| a (?:bunch|million|ton)| so much| very much"
    r"| in advance| again)?|ty(?:sm|vm)?|cheers"
)
COURTESY: Final = re.compile(
    rf"[\s,.!;-]{{0,3}}(?<![a-z])(?:{PLEASE}|{_KINDLY}|{_THANKS}|for me|much appreciated|ok(?:ay)?(?=\?)"
    rf"|(?:if|when) (?:you {_FREE}|you don't mind|possible)|(?:will|would|could) you(?=\?)|i'?d appreciate (?:it|that)"
    r"|that(?:'?d| would) be great|:\)|😊|🙏|👍)[\s.!?]{0,4}$"
)
ADVERB: Final = re.compile(
    one_of(
        """now today tonight tomorrow quickly immediately also just first simply carefully again finally always
        next this_(?:morning|afternoon|evening|week) at_once right_away
        every_(?:day|week|month|hour|morning|evening|night|monday|friday) once_a_(?:day|week|month)
        by_(?:monday|tuesday|wednesday|thursday|friday|tomorrow)"""
    )
    + r"\s?,?\s"
)
CONDITION: Final = re.compile(
    r"(?:if|when|once|for (?:each|every|all|these|the following)|from|based on|using|given|before|after"
    r"|in the) [^,.!?;:]{1,120}(?:, (?:then )?| then )|use [^,.!?;:]{1,60} to "
)

# What makes a task of whatever follows.
_TASK: Final = r"(?:tasks?|todos?|to-dos?|to-do items?|jobs?)"
_SOME: Final = one_of("a an another one the this these some more following two three few new next my as me")
_LIST: Final = r"(?:queue|list|backlog|yard|to-?do list|task list)"
_COLON: Final = r"\s?(?:[:,-]\s{0,3}|$)"
_TO_LIST: Final = rf"(?:\s(?:to|for|in|into|on) (?:the |my |our )?{_LIST})?(?:\s(?:for you|for me|please))?"
MARKER: Final = re.compile(
    rf"(?:add|create|queue|enqueue|submit)(?:\sup)?\s(?:{_SOME}\s){{0,4}}(?:task|todo|to-do)(?![a-z-]){_TO_LIST}"
    rf"(?:{_COLON}|\s(?:to|that|which|for|called|named)\s(?:will\s|does\s|should\s)?|\s(?=\S))"
    r"|(?:add|create|queue|enqueue|submit|make|open|start|schedule|register|set up|i have|i've got|here(?:'s| is| are))"
    rf"(?:\sup)?\s(?:{_SOME}\s){{0,4}}{_TASK}{_TO_LIST}(?:\s?:\s{{0,3}}|$)"
    rf"|(?:new|another|next)\s{_TASK}(?:\s(?:for you|for me))?(?:{_COLON}|\s(?:to\s)?)"
    r"|(?:(?:my|the|our|your|today's|a|one|quick|small|next|first|last)\s){0,3}"
    rf"(?:{_TASK}|to do|assignment|task\sis(?:\sto)?)(?:\s(?:list|for\s(?:today|tomorrow|you|now|this\sweek|me)))?"
    r"\s?(?::|-\s)\s{0,3}"
    r"|(?:queue up|enqueue)\s(?=[^:,\s])(?!this|it|these|that)"
    r"|(?!queue:\s?[\w./-]{1,60}[.,;]?$)"
    rf"(?:queue|enqueue|put in the queue|add to (?:the|my) {_LIST})(?:\s(?:this|it|these|that|the following))?"
    rf"(?:\sup)?(?:\sfor me)?{_COLON}"
    r"|(?:do|handle|take care of|deal with|work on|process|run|take on|get)"
    rf"\s(?:this|the following|these|that|it)(?:\s(?:one|tasks?|things|done))?(?:\s(?:for me|for us|please))?{_COLON}"
)

# What begins an imperative.
PHRASES: Final = re.compile(
    one_of(
        """look_(?:into|for|over|through) work_(?:on|out) figure_out find_out set_up clean_up follow_up write_up
        draw_up put_together go_(?:through|over) take_care_of take_(?:the|this|these|all) deal_with make_sure
        double[-_]?check cross[-_]?check sanity[-_]check reverse[-_]engineer reach_out_to whip_up
        (?:load|unit|smoke|stress|regression|integration|a/b)[-_]test back_up roll_back carry_out come_up_with
        turn_(?:the|this|these|all|my|our) sum_up break_down get_rid_of report_on check_(?:for|on) search_for scan_for
        test_for spin_up shut_down kick_off fill_(?:in|out) sort_out wrap_up keep_track_of try_to
        get_(?:the_latest|all|a_list)
        (?:clear|decrease|empty|fill|increase|lower|mirror|mute|raise|silence|void)(?:_(?:out|up|off))?_(?:the|all|an?|our|my|this|these|those|each|every|any)
        do_(?:a|an|the|some)_(?:\\w+_)?(?:review|analysis|audit|summary|comparison|cleanup|refactor|scan|test)_(?:of|on|for)"""
    )
    + r"\s(?=\S)"
)
_VERBS: Final = words_of(
    """add adjust aggregate alert allocate allowlist alphabetize analyse analyze annotate anonymize append approve
    archive arrange assemble assess assign attach audit automate backport backtest begin benchmark bisect blacklist
    block blur bootstrap brainstorm brief browse build bump bundle cache calculate calibrate call cancel capture
    catalog catalogue categorize change chart check cherry-pick choose cite clarify classify clean clone close
    cluster code collate collect combine commit compare compile complete compose compress compute concatenate
    condense configure connect consolidate consult contact containerize continue convert coordinate copy correct
    count craft crawl create critique crop curate deactivate debug decode decommission decompress decrypt dedup
    dedupe deduplicate define defragment delete deliver demonstrate deploy describe design detect determine develop
    diagnose diff digest digitize disable disassemble discard disconnect dispatch distill divide dockerize document
    downgrade download downsample downscale draft draw drop dump duplicate edit elaborate email embed enable encode
    encrypt enhance enlarge enrich ensure enumerate erase escalate estimate evaluate evict examine execute expand
    explain explore export extend extract fetch file filter finalize find fine-tune finetune finish fix flag flatten
    flush forecast format forward gather generate grade graph grep group gzip handle harden hash hide highlight hire
    host hyphenate identify illustrate implement import improve impute include index inform ingest initialize inline
    insert inspect install instrument integrate interpolate inventory invert investigate invite invoice isolate issue
    itemize label launch lay link lint list load localize locate lock log mail make map mask match measure memoize
    merge migrate minify mock model modify monitor mount move narrate negotiate normalize notify obfuscate obtain ocr
    onboard open optimize order organize outline overwrite pack pad page paginate paraphrase parse patch perform
    phrase pin ping pinpoint pivot plan plot polish poll populate port post predict prefill prefix prepare present
    preview price print prioritize process produce profile program proof proofread propose prototype provision prune
    pseudonymize publish pull punctuate purge push quantify quantize query quote rank rate re-encode read reallocate
    rearrange reassemble reassign rebalance rebase reboot rebrand rebuild recalculate recap recode recolor recolour
    recommend recompile reconcile reconfigure reconnect record recover recreate recycle redact redeploy redesign
    redirect redo redraft reduce refactor reference reformat reformulate refresh regenerate register regroup
    reimplement reindex reinstall reject release reload relocate remediate remove rename render renew renovate reopen
    reorder reorganize repackage repair rephrase replace replay replicate reply report repost reproduce reprovision
    request rerank reroute rerun resample rescale rescan reschedule research resend reserve reset reshape resize
    resolve respond restart restore restructure resubmit resume resync retag retest retitle retouch retrain retrieve
    retry reupload reuse revamp revert review revise revoke reword rework rewrite roll rotate run sample sanitize
    save scaffold scan schedule scope score scrape script scrub search secure seed segment select send separate
    serialize set setup shard sharpen ship shorten shrink sift sign simplify simulate sketch skim slice snapshot
    solve sort source spec spell-check spellcheck split squash stabilize stage stamp standardize start stitch stop
    store streamline strip structure stub study submit subtitle subtract suggest summarize supplement survey suspend
    swap sync synchronize synthesize table tabulate tag tail tally test tidy tighten toggle tokenize trace track
    train transcode transcribe transfer transform translate transliterate transpose trash triage trigger trim
    troubleshoot truncate tune tweet typecheck typeset unarchive unblock undo unify uninstall unlock unmount unpack
    unpublish unstage unsubscribe untar unzip update upgrade upload upsample upscale vacuum validate vectorize verify
    vet video visualize watermark whitelist widen winsorize wipe wire wrap write zip"""
)
VERBS: Final = _VERBS | {re.sub("i[sz]e$", end, verb) for verb in _VERBS for end in ("ise", "ize")}
NOUNS: Final = words_of(
    """audit benchmark cache catalog catalogue change chart check clean close cluster code commit complete correct
    count craft design digest document draft drop dump email estimate file fix flag forecast format group handle
    highlight import index invoice issue label launch list load log mail make map mask match measure model monitor
    mount move open order outline pack patch pin plan plot port post price print process profile program prototype
    pull push quote rank rate read record reference release report request research reset review roll run sample
    schedule score search seed set ship sign sketch slice sort spec split stage start stop store strip structure stub
    study survey sync tag test track train transfer trash tweet update upgrade vacuum wire"""
)
"""Those that are as often nouns: by what follows it shows which they are."""
FIRSTLY_VERBS: Final = words_of(
    """audit benchmark change check clean complete correct count document draft email estimate filter fix format
    group handle import index label list mail make measure monitor move open print process pull push read request
    research reset review run search set sort split start store sync tag test track update upgrade"""
)
"""Those of them that are verbs wherever they begin a sentence, unless what follows makes a noun of them."""
COMPOUNDS: Final = words_of("call day engine light meeting period point process season session team time week")
OBJECTS: Final = words_of(
    """the a an my our your his her its their all this these that those each every any some both it them me us no one
    two three four five ten several many more only whether if which who how what when where why for new out up down off
    everything everyone another and"""
)
"""After one of these words, a word that may be a noun was a verb."""
PREPOSITIONS: Final = words_of("of from about at on in with to as by than or")
"""After one of these, it was a noun."""
FINITE: Final = words_of(
    """is are was were be been being has had have will would can could should may might must did does do isn't aren't
    wasn't weren't won't didn't doesn't don't can't fails failed passed passes went goes look looks looked seem seems
    seemed finished finishes works worked crashed crashes broke breaks broken succeeded ended ends took takes came comes
    got gets sounds needs needed says said shows showed keeps kept happened happens matters ok okay looking complete
    done"""
)
"""What something is or did: then the sentence says something about it."""
COPULAS: Final = words_of("is are was were")
TAKES_CLAUSE: Final = words_of("check confirm ensure find make verify")
"""After these a whole sentence may follow: "check the tests are green"."""

_PARTICLE: Final = r"\s(?:(?:up|out|off|down|away|through)\s)?"
_THE: Final = r"(?:the|a|an|my|our|your|all|every|each|this|these|those|both)\s"
SOME_WORK: Final = re.compile(rf"[a-z-]{{2,20}}{_PARTICLE}{_THE}(?=\S)")
"""How a sentence is built that begins with a verb, whichever that is."""
IMPERATIVE: Final = (
    rf"(?:{one_of(' '.join(VERBS - NOUNS))}\s|{one_of(' '.join(VERBS))}{_PARTICLE}{_THE}|{PHRASES.pattern})(?=\S)"
)
"""How one is that begins with a verb, and could not be about a noun."""

# What sounds like work and is none.
IDIOMS: Final = re.compile(
    one_of(
        """check_(?:it|this|that|these|them|him|her)_out check_out_(?:this|that|my|the_new)
        check_in_(?:with|later|soon) make_(?:my|your|his|her)_day make_(?:yourself|sense|love|do|friends)
        make_it_(?:quick|rain|so|stop|happen) make_up_your_mind
        (?:send|give)_(?:my|our|your)_(?:regards|love|best|thanks|greetings) send_(?:help|hugs|love|it)$
        run_(?:for|away|along|late|out) read_(?:this|that|it|my_lips|the_room|on|more)
        find_(?:me|yourself|attached|peace|a_(?:girlfriend|boyfriend|husband|wife)) write_(?:soon|back|me|to_me)
        set_(?:aside|off) move_(?:on|along|over) (?:start|begin)_(?:over|again)$ drop_(?:by|in|it|dead|me)
        save_(?:me|yourself|the_date|it) count_(?:me|on|your) close_(?:call|enough|one)
        open_(?:source|mind|minded|to|up|question) order_(?:some|a|pizza|food|lunch|dinner)
        complete_(?:mess|nonsense|disaster) fix_(?:me|yourself) change_(?:of|is) clean_(?:slate|bill)
        explain_(?:yourself|to_me) describe_(?:yourself|to_me|your) resume_(?:when|later)
        suggest_(?:me|something|a_(?:good|nice)) recommend_(?:me|something|a|some)
        search_(?:for|online|(?:the_)?(?:web|internet|google|bing)) track_(?:record|and_field)
        schedule_(?:a|an|the|my|our|me)_(?:meeting|call|appointment|sync|lunch|dinner|haircut)
        choose_(?:wisely|life|me) test,?_(?:test|one|1|123) post_(?:office|mortem) plan_(?:b|ahead)
        reply_(?:to_me|asap|soon|when) respond_(?:to_me|asap|soon) list_of prepare_(?:for|to|yourself) resolve_to
        (?:include|add|notify|email|mail)_me handle_with_care stop_(?:it|that|this|me|there|by|here|now) copy_that
        set_an?_(?:alarm|timer|reminder) check_your_(?:e-?mail|inbox|phone|messages)
        try_to_(?:be|have|get|sleep|relax|stay|keep)"""
    )
    + r"(?!\w)"
)
TALK: Final = words_of(
    """advise answer ask be bear believe bless bring buy call calm cancel care chill clarify come confirm
    congratulate cook cry dance do don't drink drive eat elaborate enjoy excuse explain fall feel fly follow forget
    forgive get give go grab guess happen have hear help hold hope hug hurry ignore imagine join joke keep kill kiss
    know laugh lead learn leave lend let like listen live look lose love marry mean meet mind miss never not pass pay
    pick play pray promise quit recall recommend relax remember remind repeat rest say see shut sing sit sleep slow
    smile speak spell stand stay stop suggest take talk teach tell thank think touch trust try turn understand use
    visit wait wake walk want wash watch wear whisper win wish wonder work worry yell"""
)
"""What one asks of a person: after "please" or "can you" these are conversation …"""
TALK_OF_WORK: Final = re.compile(
    r"(?:take|have) a (?:close |closer |quick |good )?look at\s|look (?:at|into|over|through|for)\s"
    r"|go (?:through|over)\s|come up with\s|turn\s|follow up\s|keep track\s|work (?:on|out)\s|pick\s|walk through\s"
    r"|use\s|get rid of\s"
)
"""… but in these phrases."""
DELIVERABLES: Final = whole(
    one_of(
        """reports? summar(?:y|ies) analys[ie]s overview lists? charts? graphs? tables? translations? drafts?
        outlines? plans? proposals? scripts? tests? designs? diagrams? documents? docs? documentation e-?mails?
        letters? posts? articles? essays? reviews? comparisons? estimates? forecasts? breakdowns? presentations?
        decks? slides? spreadsheets? readme changelog functions? modules? apis? pages? websites? apps? dashboards?
        quer(?:y|ies) migrations? patch(?:es)? benchmarks? write-?up digest briefing memo audit"""
    )
)
NEEDS: Final = re.compile(
    r"(?:(?:i|we)(?:'d| would)?\s)?(?:need|want|like|would like|give (?:me|us)|get (?:me|us)|do)"
    r"\s(?:to (?:have|get|see)\s)?(?:a|an|the|some|two|three|new|your)\s(?P<what>[^.!?,;]{1,80})"
    r"|show (?:me|us) an?\s(?P<shown>[^.!?,;]{1,80})"
)
SMALL_TALK: Final = whole(
    "weather|time|date|news|score|joke|story|lunch|dinner|coffee|break|hand|hint|minute|second|moment|sec|ride|hug|favou?r"
)
ASKING: Final = re.compile(
    one_of(
        """wh?at wh?at'?s why why'?s how how'?s who who'?s whom whose when when'?s where where'?s which is isn'?t are
        aren'?t am was were do(?!_(?:the|these|this|those|all|both|each|everything)) does did doesn'?t didn'?t has
        have_you haven'?t had should shouldn'?t shall will won'?t would wouldn'?t can can'?t could couldn'?t may might
        any anyone anybody"""
    )
    + "(?![a-z])"
)
SPEAKER: Final = re.compile(
    one_of(
        """i i'?m i'?ll i'?ve i'?d we we're we'll we'?ve we'd you you'?re you'?ll you'?ve he he'?s she she'?s they
        they'?re it it'?s that that'?s this_is this_was there there'?s here here's somebody someone everyone everybody
        nobody people my your his her their"""
    )
    + "(?![a-z])"
)
NEGATED: Final = re.compile(r"(?:don'?t|do not|never|no need|not|no,|let's not|nobody|nothing|no one)(?![a-z'])")

WORD: Final = re.compile(
    r"[a-z][a-z'-]*+(?:[\d_@\\(]|[.:][a-z\d_]|/\S*+$)\S*|[a-z][a-z'-]*|[^\sa-z.,;:!?]\S*|\.{1,2}/\S+"
)
"""The first of these is a name that begins as a word does: "report.pdf", "format_price"."""
NAME: Final = re.compile(r"[\d./_#@]")
"""In a word that no dictionary has: a file, a number, an address."""
GERUND: Final = re.compile(r"([a-z]{2,})ing$")
PLEASANTRY: Final = re.compile(
    one_of(
        """hop(?:e|ing)_(?:you|all|everyone|your|this) i_hope happy nice_to long_time what_an? congrat good_ great_
        nice_ lovely_ i_love have_a welcome lol haha sorry_(?:to|for) thanks thank_you glad_to how_ it's_me
        me_again sounds_ looks_good that_was that's_(?:great|good|nice|perfect) see_you talk_(?:soon|later)"""
    )
)
"""Said before a request, and no part of it."""

# Questions about how things stand.
_SHOW: Final = one_of(
    """(?:show|list|display|get|give|print|check|view|see|tell|let)(?:_(?:me|us))?(?:_(?:see|know|about))?
        wh?at'?s what_is what_are how'?s how_(?:is|are|r) how_about what_about any (?:is|are)_there(?:_any)?
        do_i_have(?:_any)?"""
)
_MY: Final = r"(?:\s?(?:the|my|our|all|current|any|overall|latest|full|whole|of|on|for|a|an|in|inside)(?![a-z])){0,5}"
_THING: Final = one_of("tasks? task_?queues? queues? tasks?_list jobs yard everything work backlog to-?do_list")
_STATE: Final = one_of("status(?:es)? status_(?:update|report|overview) state progress overview update situation")
_NOW: Final = (
    r"(?:\s?"
    + one_of(
        """now right_now today please so_far doing going looking at_the_moment currently like running pending
        getting_on holding_up waiting queued blocked open left there yet overview status up_to"""
    )
    + r"){0,4}"
)
_STANDS: Final = one_of("running pending waiting queued blocked left open stuck failed in_the_queue done finished")
STATUS: Final = re.compile(
    rf"(?:{_SHOW}\s?)?{_MY}\s?(?:{_THING}(?:'s)?\s{_STATE}|{_STATE}(?:\s(?:of|on|for|with){_MY}\s{_THING})?){_NOW}"
    rf"|{_SHOW}{_MY}\s(?:{_THING}{_NOW}|what(?:'?s|\shas)?\s(?:failed|running|open|waiting)|failed\s{_THING}|failures)|(?:tasks?|queues?)"
    rf"|(?:wh?at|which|how many)(?:\s(?:of\s)?(?:my\s)?{_THING})?(?:'?s|\sis|\sare|\sr|\sdo i have)\s"
    rf"(?:(?:still|currently|now|all)\s)?{_STANDS}(?:\snow|\sright now|\sat the moment|\scurrently|\stoday)?"
    rf"|(?:what|which)(?:'?s)?(?:\s(?:of\s)?(?:my\s|the\s)?{_THING})?(?:\s(?:have|has))?\s(?:failed|finished|got\sstuck)"
    rf"|(?:is|are)\s(?:there\s)?(?:any(?:thing|\stasks?|\sof my tasks)|(?:my|the|all) tasks|everything)\s"
    rf"(?:still\s)?{_STANDS}(?:\syet|\snow)?"
)
STATUS_OF_QUEUE: Final = (
    re.compile(
        rf"(?:{_SHOW}\s)?{_MY}\s?(?:queue\s?{_STATE}|queue(?!\s?:)|{_STATE})\s?(?:of|for|on|in|at|:)?\s?(?P<name>\S.*)"
    ),
    re.compile(rf"(?:{_SHOW}\s)?{_MY}\s?(?P<name>\S.*?)(?:'s)?\s(?:queue|{_STATE})(?:\s{_STATE})?{_NOW}"),
)
UNKNOWN_QUEUE: Final = re.compile(
    r"(?:show|display|list|view)(?:\sme)?(?:\sthe)?\squeue\s(?P<name>[\w./:-]+)|(?:查看|显示)队列\s?(?P<zh>[a-z][\w./:-]*)"
)
STATUS_OF_TASK: Final = re.compile(
    rf"(?P<asks>{_SHOW}(?:\s(?:it\s)?(?:going|happening|up|going\son)\swith)?|status|how\sfar(?:\salong)?\sis"
    r"|where(?:'?s|\sis|\sare)|why(?:'?s|\sis|\sdid|\sdoes|\shas|\sisn'?t|\shasn'?t|\sdoesn'?t)|did|has|is|does|(?:is|has)n'?t"
    rf"|when\swill|what\shappened\s(?:to|with)|explain)?{_MY}\s?(?:(?:{_STATE}|news|word)\s(?:of|on|for|about|from)\s)?(?P<refs>{REFS})(?:'s)?"
    r"(?P<about>(?:\s"
    + one_of(
        """status state progress doing going done finished finish completed? ready running run blocked waiting
        stuck failed fail failing started? over yet now so_far still not isn'?t wasn'?t right_now coming_along in the
        getting_on along at_the_moment queued? pending there happening with up taking so long"""
    )
    + r"){0,6})"
)

NOT_A_QUEUE: Final = re.compile(
    r"\s(?:server|machine|host|repo|repository|drive|file|folder|storage|database|backup|branch|desktop|team|worker|disk"
    r"|office|copy|network|provider|account|environment|version|station|workstation|console|dashboard|api)s?(?![a-z])"
)
"""After a queue's name: then the word is about something else."""
DANGLING: Final = re.compile("(?:to|of|from|about|into|than)\\s")
"""What begins so goes on with the words before it."""
EITHER: Final = re.compile(r"\s(?:or|and/or)\s(?:the\s)?")

# How urgent a task is, and what it is for.
LEVELS: Final = (
    dict.fromkeys(("not urgent", "no rush", "no hurry", "low", "p3", "p4"), Level.LOW)
    | dict.fromkeys(("top", "highest", "urgent", "critical", "emergency", "p0"), Level.CRITICAL)
    | dict.fromkeys(("high", "important", "asap", "a.s.a.p", "as soon as", "p1"), Level.HIGH)
    | dict.fromkeys(("medium", "normal", "default", "standard", "regular", "p2"), Level.NORMAL)
)
"""By the first of these words that a priority has in it."""
_LEVEL: Final = one_of("top highest critical urgent high important medium normal default standard regular low lowest")
_VERY: Final = r"(?:(?:very|really|super|extremely|most|rather|so)\s)?"
_VALUE: Final = (
    r"prio(?:rity)?(?:\slevel)?(?:\s(?:is|of|to|as)\s|\s?[:=]\s?|\s)"
    rf"(?:{_LEVEL}|\d{{1,9}}(?:\s?/\s?10)?)(?![\w-])"
)
_PRIORITY: Final = rf"(?:{_LEVEL}[\s-]prio(?:rity)?(?![a-z])|{_VALUE})"
_URGENT: Final = one_of(
    "urgent critical emergency important asap a\\.s\\.a\\.p not_(?:so_|very_|that_)?urgent no_rush no_hurry"
)
_IS_IT: Final = (
    r"(?:(?:it|(?:this|that|the)(?:\s(?:task|job|one))?)(?:'s|\sis|\shas)\s(?:of\s)?(?:an?\s)?"
    r"|(?:please\s)?(?:make|mark|set|treat|flag|give|do)\s"
    r"(?:(?:it|this|that|them|all|these|the|its)\s){0,2}(?:as\s|to\s)?(?:an?\s)?)?"
)
_STATED: Final = rf"{_IS_IT}{_VERY}(?:{_PRIORITY}|{_URGENT})"
_NEW: Final = r"(?:add|create|queue|submit|make|schedule|open|new)\s(?:(?:a|an|another|new|this|the|one|me)\s){0,3}"
PRIORITY_FIRST: Final = (
    re.compile(
        rf"(?P<p>(?:[\[(]?\s?{_STATED}|\[(?:{_LEVEL}|p[0-4])(?=\])|p[0-4](?=:))\s?"
        r"(?:[\])]\s?[:,-]?|[:,!]{1,3}|\s?-\s|\.(?=\s|$)|$)\s{0,3})(?:but\s)?"
    ),
    re.compile(rf"(?P<p>(?:urgently|asap|(?:with|at|as)\s(?:an?\s)?{_PRIORITY}),?\s)(?=[a-z])"),
    re.compile(
        rf"(?P<p>{_VERY}(?:(?:{_PRIORITY}|{_URGENT})\s|(?:highest|high|medium|low|lowest)\s?[:!-]\s?|[\[(]p[0-4][\])]\s))"
        rf"(?={PLEASE}\s|{_COULD}\s{_YOU}\s|{IMPERATIVE})"
    ),
    re.compile(
        rf"(?:{_NEW})?(?P<p>{_VERY}(?:{_LEVEL}[\s-]prio(?:rity)?|urgent|critical|important)\s)"
        r"(?=(?:tasks?|todos?|to-dos?|jobs?)(?![a-z-]|\slist))"
    ),
    re.compile(
        rf"{_NEW}(?:task|todo)\s?(?P<p>(?:(?:with|of|at)\s(?:an?\s)?|[\[(]\s?)(?:{_PRIORITY}|{_URGENT})\s?[\])]?)"
        r"(?=\s?[:,-]|\sto\s)"
    ),
)
PRIORITY_LAST: Final = (
    re.compile(
        r"(?P<p>(?:\s?[,;]\s?(?:(?:and|but)\s)?(?:(?:with|at|as)\s(?:an?\s)?)?|\s-\s|\s?[\[(]\s?)"
        rf"(?:{_STATED}|(?<=[\[(])p[0-4](?=[\])]))\s?[\])]?)\s?[.!]{{0,3}}$"
    ),
    re.compile(
        rf"(?P<p>\s(?:and\s)?(?:(?:with|at|as|on|in)\s(?:an?\s)?{_VERY}{_PRIORITY}|{_VALUE}|urgently|asap|no\srush|no\shurry"
        rf"|as\ssoon\sas\s(?:possible|you\scan)|(?:make|mark)\s(?:it|this)\s(?:as\s)?(?:{_PRIORITY}|{_URGENT})))\s?[.!]{{0,3}}$"
    ),
)
GOAL: Final = re.compile(
    r"(?:^|\s?[(,;.\n]\s?)(?:(?:and|with|the|my|our)\s){0,2}(?:goal|aim|objective|purpose)\s?:\s?(?P<goal>\S.*?)\)?$",
    re.DOTALL,
)

# What numbers a list, and what stands before it.
STEP: Final = (
    r"(?:(?:step|stage|phase)\s?#?(?:\d{1,3}|one|two|three|four|five|six)"
    r"|(?:first|second|third|fourth|fifth|1st|2nd|3rd|[4-9]th|last|finally)(?=\s?[:-]\s))"
)
ORDERED: Final = whole(
    r"in (?:this |that |the (?:following |given )?)?(?:order|sequence)|one (?:after|by) (?:another|the other|one)"
    r"|sequentially|step by step|in turn"
)
LEADS: Final = whole(
    one_of("tasks? to-?dos? to_do do add queue please need want following steps? these can_you could_you run handle")
)
TELLS: Final = whole(
    one_of(
        """did done finished completed was were yesterday last_(?:week|month|night) like love hate favou?rite
        notes? reasons? pros cons questions? agenda ingredients why what who noticed learned remember hobbies facts
        (?<!these_)(?<!following_)changes highlights shopping grocer(?:y|ies) bought saw liked i"""
    )
)
GENERIC: Final = re.compile(
    one_of("do add run handle complete process queue work_on finish take_care_of execute start create make perform")
    + r"\s(?:(?:all|each|of|the|my|a|few|two|three|\d)\s){0,4}"
    + one_of("these those following this them tasks? things steps jobs below")
)
"""Work that is told only in the list."""
ITEMS: Final = re.compile(
    r"(?<![a-z])(?:(?:these|those|following)\s"
    r"(?!(?:please|pls|plz|in|for|on|with|by|to|and|as|from|of|now|today|asap|using|myself|yourself)(?![a-z])"
    r"|(?:two|three|four|five|few|\d+)(?:\s?:|$))([a-z\d][^:,]{0,60})"
    r"|the\s([a-z\d][^:,]{0,60})\s(?:(?:listed|named|given)\s)?below)"
)
VAGUE: Final = re.compile(
    r"(?:(?!(?:in|for|on|with|by|to|and|as|from|of|into|pull|merge)\s)[\w-]+\s){0,3}"
    + one_of(
        """tasks? to-?dos? jobs? things steps? items points orders? sequence actions chores requests commands changes
        fixes edits updates improvements features checks tickets issues ones"""
    )
    + "(?![a-z-])"
)
"""What a list is about, unless that is only another word for work."""

# What is commanded.
COMMANDS: Final = {
    ChatCommand.CANCEL: one_of("cancel abort stop kill drop terminate delete remove"),
    ChatCommand.RETRY: one_of("re-?try re-?run redo re-?start resubmit try_again"),
    ChatCommand.SKIP: one_of("skip skip_over leave_out pass_over"),
}
IT: Final = (
    r"(?:\s(?:it|that|this|them|these|those|all|everything|tasks?|(?:all\s)?(?:the|my|our|that|this|these|those|all)"
    r"(?:\s(?:last|previous|current|other|running|failed|pending|of)){0,3}(?:\s(?:tasks?|jobs?|one|ones|them|it))?))?"
)
STEP_ON_IT: Final = re.compile(
    one_of("delete remove stop drop kill terminate re-?start redo re-?run")
    + r"\s(?:it|them|this|that|these|those|all|everything)(?!\w)(?!.*(?:task|job))"
)
"""What a step may do with what the step before it has found, where "cancel it" is about a task."""

# What comes after something else.
TIME: Final = one_of(
    """week month year day time monday tuesday wednesday thursday friday saturday sunday quarter sprint release version
    to in is steps? one door morning few two three level generation"""
)
"""After "next": then that is no word of sequence."""
