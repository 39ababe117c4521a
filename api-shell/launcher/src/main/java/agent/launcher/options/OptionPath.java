package agent.launcher.options;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Optional;

/** The paths that options name, which do not depend on where the agent is started. */
public final class OptionPath {
  private OptionPath() {}

  /**
   * Reads the value of an option.
   *
   * @throws OptionException where it is no absolute path
   */
  public static Path of(String option, String text) {
    final Path path;
    try {
      path = Path.of(text);
    } catch (InvalidPathException e) {
      throw new OptionException("--" + option + ": " + e.getReason());
    }
    if (!path.isAbsolute()) {
      throw new OptionException("--" + option + ": '" + text + "' is not an absolute path");
    }
    return path.normalize();
  }

  /**
   * Reads the value of an option that may be empty.
   *
   * @throws OptionException where it is no absolute path
   */
  public static Optional<Path> ofOptional(String option, String text) {
    return text.isEmpty() ? Optional.empty() : Optional.of(of(option, text));
  }
}
