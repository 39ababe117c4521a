package agent.types;

/** Text of names and labels, which shows as what it is wherever it is printed. */
public final class PlainText {
  private PlainText() {}

  /**
   * Returns whether a text has neither a control character (those of C0 and C1, and the separators
   * of lines and paragraphs) nor one that changes the direction of what follows (Unicode Standard
   * Annex 9).
   */
  public static boolean isPlain(String text) {
    for (int i = 0; i < text.length(); i++) {
      final char c = text.charAt(i);
      if (Character.isISOControl(c) || c == '\u2028' || c == '\u2029' || isBidirectional(c)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isBidirectional(char c) {
    return c == '\u061c'
        || c == '\u200e'
        || c == '\u200f'
        || c >= '\u202a' && c <= '\u202e'
        || c >= '\u2066' && c <= '\u2069';
  }

  /**
   * Returns the text.
   *
   * @param field the field that holds it
   * @param text null for none
   * @throws Refusal INVALID naming the field where it is not plain
   */
  public static String checked(String field, String text) {
    if (text != null && !isPlain(text)) {
      throw Refusal.invalid(field, "contains a control or bidirectional character");
    }
    return text;
  }
}
