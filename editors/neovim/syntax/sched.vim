" Colours of a schedule while the language server is not running, which has more kinds of words.

if exists("b:current_syntax")
  finish
endif

syntax keyword schedHeader sched model target
syntax keyword schedDeclaration param const in
syntax keyword schedBlock when
syntax keyword schedReserved use def require tune
syntax keyword schedFact num_trees N_t num_features num_classes max_depth batch_size run_depth n_rows
syntax keyword schedFunction min max ceildiv trees_to_depth
syntax keyword schedRow batch
syntax keyword schedTree tree
syntax match schedDirective /\%(^\|[;{]\)\s*\zs\h\w*\ze\s*(/
syntax match schedDimension /\<\%(grid\|block\)\.[xyz]\>/
syntax match schedWord /\<\%(depth\|array\|sparse\|levels\|quantized\|preorder\|oblivious\|reorg\|hybrid\|uniform\|probability\)\>\ze\s*)/
syntax match schedNumber /\<\d\+\>/
syntax match schedOperator /[-+*%=<>]\|\/\ze[^/]/
syntax region schedString start=/"/ skip=/\\./ end=/"\|$/ oneline
syntax match schedComment /\%(\/\/\|#\).*$/

highlight default link schedHeader Keyword
highlight default link schedDeclaration Keyword
highlight default link schedBlock Conditional
highlight default link schedReserved Error
highlight default link schedFact Constant
highlight default link schedFunction Function
highlight default link schedRow Identifier
highlight default link schedTree Type
highlight default link schedDirective Function
highlight default link schedDimension Constant
highlight default link schedWord Constant
highlight default link schedNumber Number
highlight default link schedOperator Operator
highlight default link schedString String
highlight default link schedComment Comment

let b:current_syntax = "sched"
