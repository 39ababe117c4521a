package agent.node;

import agent.types.Refusal;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The value of {@code --device}: names and patterns, separated by commas. {@code eth+} means every
 * device whose name begins with {@code eth}, a leading {@code !} takes a name or pattern away, and
 * {@code auto} means the devices that face the network. So do {@code undefined}, and a list that
 * only takes away.
 */
public final class DeviceSelection {
  private static final String FIELD = "device";

  private final Set<String> names = new LinkedHashSet<>();
  private final List<String> stems = new ArrayList<>();
  private final Set<String> excludedNames = new LinkedHashSet<>();
  private final List<String> excludedStems = new ArrayList<>();
  private boolean isAuto;

  private DeviceSelection() {}

  /**
   * Parses the value of the option.
   *
   * @throws Refusal INVALID where an element is neither a name nor a pattern
   */
  public static DeviceSelection parse(String text) {
    final DeviceSelection selection = new DeviceSelection();
    if (text == null || text.isBlank() || text.equals(NodeOptions.UNDEFINED)) {
      selection.isAuto = true;
      return selection;
    }
    for (final String element : text.split(",", -1)) {
      selection.add(element.strip());
    }
    selection.isAuto |= selection.names.isEmpty() && selection.stems.isEmpty();
    return selection;
  }

  private void add(String element) {
    if (element.equals(NodeOptions.AUTO)) {
      isAuto = true;
      return;
    }
    if (element.equals(NodeOptions.UNDEFINED)) {
      throw Refusal.invalid(FIELD, "'undefined' cannot be combined with device names");
    }
    final boolean isExcluded = element.startsWith("!");
    final String name = isExcluded ? element.substring(1) : element;
    if (name.endsWith("+")) {
      final String stem = name.substring(0, name.length() - 1);
      (isExcluded ? excludedStems : stems)
          .add(stem.isEmpty() ? stem : InterfaceName.check(FIELD, stem));
    } else {
      (isExcluded ? excludedNames : names).add(InterfaceName.check(FIELD, name));
    }
  }

  /** Returns the devices that are named, which must be there. */
  public Set<String> required() {
    return Set.copyOf(names);
  }

  /** Returns the device whose addresses are preferred: the first that is named. */
  Optional<String> preferred() {
    return names.stream().findFirst();
  }

  /** Returns whether a name or a pattern selects the device. */
  public boolean names(String device) {
    return names.contains(device) || begins(device, stems) && !excludes(device);
  }

  /** Returns whether the device is selected. */
  boolean selects(String device, boolean facesNetwork) {
    return names(device) || isAuto && facesNetwork && !excludes(device);
  }

  private boolean excludes(String device) {
    return excludedNames.contains(device) || begins(device, excludedStems);
  }

  private static boolean begins(String device, List<String> stems) {
    return stems.stream().anyMatch(device::startsWith);
  }
}
