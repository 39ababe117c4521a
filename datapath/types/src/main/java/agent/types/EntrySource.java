package agent.types;

import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * The source of a rule, service or endpoint. Only the source of an entry changes or deletes it.
 *
 * @param text {@code api}, {@code cluster}, {@code orch}, {@code file:<name>} or {@code
 *     runtime:<kind>}
 */
public record EntrySource(String text) {
  private static final Pattern FORM =
      Pattern.compile("api|cluster|orch|file:[^/]{1,255}|runtime:[a-z]{1,32}");

  /**
   * The clients of the API, a CNI plug-in among them: it speaks to the agent's socket as every
   * other client, so that any client may change and delete what another one has made. Records of
   * releases before 0.10 are theirs.
   */
  public static final EntrySource API = new EntrySource("api");

  /**
   * Checks the form.
   *
   * @throws Refusal INVALID naming {@code source}
   */
  public EntrySource {
    if (!FORM.matcher(text).matches() || !PlainText.isPlain(text)) {
      throw Refusal.invalid(
          "source", "'" + text + "' is not api, cluster, orch, file:<name> or runtime:<kind>");
    }
  }

  /**
   * Checks that this is the source of who changes an entry of it.
   *
   * @param asking the source of who changes it
   * @param field the field of the request that says which entry
   * @param entry the entry in a message, asked for where it is refused
   * @throws Refusal CONFLICT where it is another one
   */
  public void requireOf(EntrySource asking, String field, Supplier<String> entry) {
    if (!equals(asking)) {
      throw Refusal.conflict(field, entry.get() + " belongs to source '" + text + "'");
    }
  }

  @Override
  public String toString() {
    return text;
  }
}
