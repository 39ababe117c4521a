package agent.l7proxy;

/**
 * What becomes of a request whose path has an escaped slash or backslash ({@code %2F}, {@code
 * %5C}), which some servers take for a separator and others for a character of a name.
 */
public enum EscapedSlashes {
  /** It is refused. */
  REJECT,

  /**
   * The path is judged and sent on with these escapes as they came. One that has dot segments for a
   * server that decodes them first is refused.
   */
  KEEP
}
