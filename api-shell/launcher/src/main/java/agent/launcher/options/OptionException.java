package agent.launcher.options;

import agent.types.Refusal;
import java.util.function.Supplier;

/** An option that is unknown, has a bad value or is not served: the agent exits with code 2. */
public final class OptionException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message one line, starting with the option
   */
  public OptionException(String message) {
    super(message);
  }

  /** Returns a part of the agent, or turns its refusal into an error of the option. */
  public static <T> T naming(String option, Supplier<T> part) {
    try {
      return part.get();
    } catch (Refusal e) {
      throw new OptionException("--" + e.getMessage());
    } catch (IllegalArgumentException e) {
      final String message = e.getMessage();
      final boolean named = message.contains(": ") && isOption(message);
      throw new OptionException("--" + (named ? message : option + ": " + message));
    }
  }

  private static boolean isOption(String message) {
    return OptionTable.byName(message.substring(0, message.indexOf(": "))) != null;
  }
}
