package agent.launcher.process;

import java.util.function.BiPredicate;

/**
 * What the agent must have of one object after the calls that changed it: the state that the last
 * answer promised, or, after a call that was not answered, that state or the requested one. One
 * client thread changes it.
 *
 * @param <T> the content of the object; null where the object does not exist
 */
final class CrashExpectation<T> {
  private final String subject;
  private final BiPredicate<T, T> matches;
  private T known;
  private T requested;
  private boolean isUnanswered;

  CrashExpectation(String subject, T initial, BiPredicate<T, T> matches) {
    this.subject = subject;
    this.matches = matches;
    known = initial;
  }

  T known() {
    return known;
  }

  /** Records a call that was answered with success. */
  void answered(T content) {
    known = content;
  }

  /** Records a call that was not answered. */
  void unanswered(T content) {
    requested = content;
    isUnanswered = true;
  }

  boolean isUnanswered() {
    return isUnanswered;
  }

  /**
   * Adopts what the next run of the agent has.
   *
   * @return null, or what differs from the answers
   */
  String settle(T found) {
    final String difference =
        isMatch(known, found) || isUnanswered && isMatch(requested, found)
            ? null
            : subject
                + ": "
                + shown(found)
                + ", expected "
                + shown(known)
                + (isUnanswered ? " or, without an answer, " + shown(requested) : "");
    known = found;
    requested = null;
    isUnanswered = false;
    return difference;
  }

  private boolean isMatch(T expected, T found) {
    return expected == null || found == null ? expected == found : matches.test(expected, found);
  }

  private static String shown(Object content) {
    return content == null ? "none" : content.toString();
  }
}
