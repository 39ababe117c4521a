package agent.cli.output;

import java.util.Locale;

/**
 * How results are printed.
 *
 * @param kind the form
 * @param template the template of {@link Kind#JSONPATH}, else null
 */
public record OutputFormat(Kind kind, PathTemplate template) {
  /** The forms. */
  public enum Kind {
    /** Columns that fit the terminal. */
    TABLE,
    /** Columns of which nothing is cut. */
    WIDE,
    /** Comma-separated values. */
    CSV,
    /** The JSON that the agent answered, indented. */
    JSON,
    /** The same as YAML. */
    YAML,
    /** The values of a path. */
    JSONPATH
  }

  /** The prefix of a path. */
  public static final String JSONPATH = "jsonpath=";

  /**
   * Returns the format that an option names; null means a table.
   *
   * @throws IllegalArgumentException where a path is malformed
   */
  public static OutputFormat of(String text) {
    if (text == null) {
      return new OutputFormat(Kind.TABLE, null);
    }
    return text.startsWith(JSONPATH)
        ? new OutputFormat(Kind.JSONPATH, new PathTemplate(text.substring(JSONPATH.length())))
        : new OutputFormat(Kind.valueOf(text.toUpperCase(Locale.ROOT)), null);
  }

  /** Returns whether a program reads the output, rather than a person. */
  public boolean isDocument() {
    return kind == Kind.JSON || kind == Kind.YAML || kind == Kind.JSONPATH;
  }
}
