# cmake -DOUT=page.cc -DHTML=.. -DSTYLE=.. -DSCRIPT=.. -P embed.cmake: a source that holds the page's files.
function(text_of variable file)
  file(READ ${file} text)
  set(${variable} "R\"hodo-page(${text})hodo-page\"" PARENT_SCOPE)
endfunction()
text_of(html ${HTML})
text_of(style ${STYLE})
text_of(script ${SCRIPT})
file(WRITE ${OUT} "#include \"hodo/web/page.h\"

namespace hodo::web {

Result<Page> page() {
  return Page{.html = ${html},
              .style = ${style},
              .script = ${script}};
}

}  // namespace hodo::web
")
