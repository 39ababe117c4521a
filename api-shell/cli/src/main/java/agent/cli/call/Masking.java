package agent.cli.call;

import agent.cli.output.TreeWriter;
import java.util.regex.Pattern;

/** Passes a document on without secrets: by the names of members, and by the form of texts. */
public final class Masking extends TreeWriter {
  private static final String MASK = "***";

  private static final String SECRET_WORDS =
      "pass(?:word|wd|phrase)|secret|token|credential|private[-_.]?key|api[-_.]?key|authorization|cookie";
  private static final Pattern SECRET_NAME = Pattern.compile("(?i).*(" + SECRET_WORDS + ").*");
  private static final Pattern ASSIGNMENT =
      Pattern.compile(
          "(?i)([A-Za-z0-9_.-]*(?:"
              + SECRET_WORDS
              + ")[A-Za-z0-9_.-]*\\s*[=:]\\s*|--[a-z0-9-]*(?:"
              + SECRET_WORDS
              + ")[a-z0-9-]*\\s+)(\"[^\"]*\"|[^\\s,;]+)");
  private static final Pattern USER_INFO = Pattern.compile("(://[^/\\s:@]*:)[^/\\s@]+@");
  private static final Pattern BEARER =
      Pattern.compile("(?i)\\b(bearer|basic)\\s+[A-Za-z0-9._~+/=-]{8,}");
  private static final Pattern PRIVATE_KEY =
      Pattern.compile(
          "(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)");

  private final TreeWriter to;
  private boolean isSecret; // the value that follows
  private int secretDepth; // of the array or object that is masked whole

  public Masking(TreeWriter to) {
    this.to = to;
  }

  /** Returns a text without what looks like a secret. */
  public static String mask(String text) {
    String masked = PRIVATE_KEY.matcher(text).replaceAll(MASK);
    masked = ASSIGNMENT.matcher(masked).replaceAll("$1***");
    masked = USER_INFO.matcher(masked).replaceAll("$1***@");
    return BEARER.matcher(masked).replaceAll("$1 ***");
  }

  private void start() {
    if (isSecret || secretDepth > 0) {
      secretDepth++;
      isSecret = false;
    }
  }

  private void stop() {
    secretDepth -= secretDepth > 0 ? 1 : 0;
  }

  @Override
  public void startObject() {
    start();
    to.startObject();
  }

  @Override
  public void endObject() {
    stop();
    to.endObject();
  }

  @Override
  public void startArray() {
    start();
    to.startArray();
  }

  @Override
  public void endArray() {
    stop();
    to.endArray();
  }

  @Override
  public void name(String name) {
    isSecret = SECRET_NAME.matcher(name).matches();
    to.name(name);
  }

  @Override
  public void text(String text) {
    to.text(isSecret || secretDepth > 0 ? MASK : mask(text));
    isSecret = false;
  }

  @Override
  public void literal(String literal) {
    if (isSecret || secretDepth > 0) {
      to.text(MASK);
    } else {
      to.literal(literal);
    }
    isSecret = false;
  }

  @Override
  public boolean isBroken() {
    return to.isBroken();
  }

  @Override
  public void end() {
    to.end();
  }
}
