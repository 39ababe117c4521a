package agent.maps.mirror;

import java.util.Locale;

/** What is to be done so that the kernel holds what the agent wants. */
public enum DesiredAction {
  /** Nothing: the kernel holds it. */
  OK,
  /** The entry is wanted and could not be written. */
  INSERT,
  /** The entry is not wanted and could not be deleted. */
  DELETE;

  /** As the API spells it (decisions.md, section 3). */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
