# Makes page_parts.cpp: the page's sources and the chart library as constants of the program.
#   cmake -DOUT=FILE -DPAGE=app/report/page -DDYGRAPHS=DIR -P embed.cmake
set(scripts format.js charts.js curves.js tables.js heatmaps.js sections.js live.js page.js)
set(text "// Made by app/report/embed.cmake.\n#include \"app/report/page_parts.h\"\n\nnamespace tapemeasure::page_parts {\n")

function(part name)
  set(whole "")
  foreach(file ${ARGN})
    file(READ "${file}" content)
    string(APPEND whole "${content}")
  endforeach()
  # A page must not ask for another file, not even for one that only a debugger reads.
  string(REGEX REPLACE "\n(//|/\\*)# sourceMappingURL=[^\n]*" "" whole "${whole}")
  # Compilers need not take a literal that is longer than 64 KiB: neighbours become one.
  string(LENGTH "${whole}" length)
  set(literals "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${whole}" ${at} 16000 piece)
    string(APPEND literals "\n    R\"tapemeasure(${piece})tapemeasure\"")
    math(EXPR at "${at} + 16000")
  endwhile()
  set(text "${text}\nextern const std::string_view ${name} =${literals};\n" PARENT_SCOPE)
endfunction()

list(TRANSFORM scripts PREPEND "${PAGE}/")
part(kIndex "${PAGE}/index.html")
part(kStyle "${PAGE}/style.css")
part(kScript ${scripts})
part(kLibraryScript "${DYGRAPHS}/dygraph.min.js")
part(kLibraryStyle "${DYGRAPHS}/dygraph.min.css")
part(kLibraryLicence "${PAGE}/dygraphs-licence.txt")
string(APPEND text "\n}  // namespace tapemeasure::page_parts\n")
file(WRITE "${OUT}" "${text}")
