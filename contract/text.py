"""The encoding in which our JVMs read and write text and file names, whatever locale they are started in.

Java 17 takes its default charset from the locale, and replaces what that can't encode with `?`.
"""

UTF_8_FLAG = "-Dfile.encoding=UTF-8"
# File names and arguments follow the locale alone. LC_ALL overrides LC_CTYPE and LANG.
UTF_8_LOCALE = {"LC_ALL": "C.UTF-8"}
