"""In which encoding a JVM of ours reads and writes text and file names, whatever the locale of its starter is.

Java 17 takes its default charset from the locale, and what it can't write in that becomes `?`.
"""

UTF_8_FLAG = "-Dfile.encoding=UTF-8"
# File names and arguments follow the locale alone. LC_ALL is stronger than LC_CTYPE and LANG.
UTF_8_LOCALE = {"LC_ALL": "C.UTF-8"}
