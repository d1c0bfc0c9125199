"""A few lines in each language that the readings of code know, and a comment in it."""

_LINES = r"""
==== Python
import os

def area(self, r):
    if r is None:
        raise ValueError(r)
    return [x for x in r]
==== C
#include <stdio.h>
int main(int argc, char **argv) {
  printf("%d", argc);
  return 0;
}
==== JavaScript
const f = require('fs');
function g(a) {
  if (a === undefined) {
    console.log(a);
  }
}
==== Go
package main
func main() {
	x := 1
	if err != nil {
		fmt.Println(x)
	}
}
==== Rust
pub fn f<'a>(x: &'a mut Vec<usize>) -> Option<i32> {
    let mut y = x.len();
    Some(y as i32)
}
==== Kotlin
fun f(x: Int): String {
    val y = listOf(1)
    when (x) { 1 -> println(y) }
    return "a"
}
==== Swift
func f(x: Int?) -> String {
    guard let y = x else { return "" }
    return y == nil ? "a" : "b"
}
==== PHP
<?php
function f($x) {
  foreach ($x as $key => $value) {
    echo $value;
  }
  return isset($x);
}
==== Ruby
def f(x)
  x.each do |y|
    puts y unless y.nil?
  end
rescue
  nil
end
==== Perl
use strict;
sub f {
  my ($x) = @_;
  my $y = shift;
  foreach (@$x) { die $_ unless $y; }
}
==== shell
#!/bin/sh
for f in $1; do
  if [ -e $f ]; then
    echo $f | grep x
  fi
done
case $2 in a) ;; esac
==== SQL
SELECT a, count(*) FROM t JOIN u ON (t.id = u.id) WHERE a > 1 GROUP BY a ORDER BY 2;
==== R
f <- function(x) {
  y <- sapply(x, function(a) a)
  if (is.null(y)) return(NULL)
  paste(nrow(x), TRUE)
}
==== Lua
local function f(t)
  for k, v in pairs(t) do
    if v == nil then return k .. v end
  end
end
==== Haskell
module Main where
data T = A | B deriving (Show)
f :: Maybe Int -> IO ()
f (Just x) = putStrLn (show x)
f Nothing = return ()
==== Scala
object M extends T {
  val x: Option[Int] = None
  implicit def f(y: Int) = y match { case 1 => println(y) }
}
==== CSS
.a { margin: 0 4px; padding: 1em; }
#b:hover { background: rgba(0, 0, 0, .5) !important; }
====
To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer.
"""

SNIPPETS = dict(part.strip(" ").split("\n", 1) for part in _LINES.split("====")[1:])
"""The lines by the name of their language. Those of "" are prose."""

COMMENTS = {
    "Python": "# if x",
    "C": "/* if\nx */",
    "Rust": "// if x",
    "SQL": "-- if x",
    "Lua": "--[[ if\nx ]]",
    "PHP": "# if x",
    "Haskell": "{- if\nx -}",
    "CSS": "/* if x */",
    "Ruby": "=begin\nif x\n=end",
    "shell": "# if x",
    "Perl": "=pod\nif x\n=cut",
    "JavaScript": "// if x",
    "Go": "// if x",
    "Scala": "/* if x */",
    "R": "# if x",
    "Kotlin": "// if x",
    "Swift": "// if x",
}
