autocmd BufRead,BufNewFile *.sched setfiletype sched
