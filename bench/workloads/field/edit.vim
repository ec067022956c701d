" An editor's afternoon: a file is filled, changed all over, sorted, folded, undone, searched and written.
set nomore
call setline(1, map(range(1, 6000), 'printf("line %04d %s of %d", v:val * 7919 % 6007, repeat("word ", v:val % 7), v:val * v:val)'))
%s/word \(\w\+\)/\1 word/g
%s/\d\+/[&]/g
sort
for s:i in range(1, 40)
  execute 'normal! ' . (s:i * 100) . 'GddpA changed' . "\<Esc>"
endfor
global/7$/normal! yyp
undo
redo
let s:counts = {}
for s:line in getline(1, '$')
  for s:word in split(s:line)
    let s:counts[s:word] = get(s:counts, s:word, 0) + 1
  endfor
endfor
call append('$', sort(map(items(s:counts), 'v:val[0] . "=" . v:val[1]'))[0:50])
write! edited.txt
qall!
