fn f<'a>() { 'b: loop { for x in r#"{"#.y() { if z('}') { break 'b; } } } }
