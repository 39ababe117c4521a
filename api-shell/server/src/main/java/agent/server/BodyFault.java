package agent.server;

import tools.jackson.core.JacksonException;

/** What the API answers where a body cannot be decoded, for programs that check documents. */
public final class BodyFault {
  private BodyFault() {}

  /** Returns the path in the document, a colon, and what is wrong there. */
  public static String message(JacksonException failure) {
    return RequestBody.refusal(failure).getMessage();
  }
}
