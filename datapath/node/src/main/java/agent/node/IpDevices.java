package agent.node;

import agent.types.MacAddress;
import agent.types.Refusal;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Devices as {@code ip link} lists them. Not {@link java.net.NetworkInterface}, which leaves out
 * devices without an address, as the host side of a veth is; not sysfs, which shows the namespace
 * that mounted it.
 */
public final class IpDevices implements Devices {
  private static final Pattern LINE =
      Pattern.compile("(?<index>\\d+): (?<name>\\S+): <(?<flags>\\S*)> (?<rest>mtu \\d+.*)");

  private final IpRunner ip;

  /** Devices seen by this runner. */
  public IpDevices(IpRunner ip) {
    this.ip = ip;
  }

  @Override
  public Optional<Device> byName(String name) {
    final List<String> lines;
    try {
      lines = ip.show(List.of("-d", "-o", "link", "show", "dev", name));
    } catch (Refusal refusal) {
      if (refusal.reason().contains("does not exist")) {
        return Optional.empty();
      }
      throw refusal;
    }
    return lines.stream().map(IpDevices::device).filter(d -> d.name().equals(name)).findFirst();
  }

  @Override
  public Optional<Device> byIndex(int index) {
    return all().stream().filter(device -> device.index() == index).findFirst();
  }

  @Override
  public List<Device> all() {
    return ip.show(List.of("-d", "-o", "link", "show")).stream().map(IpDevices::device).toList();
  }

  /**
   * {@code 5: v0@if4: <BROADCAST,UP> mtu 1500 ...\ link/ether 02:00:00:00:00:01 brd ...\ veth ...}.
   */
  static Device device(String line) {
    final Matcher matcher = LINE.matcher(line);
    if (!matcher.matches()) {
      throw Refusal.failed("", "ip link: '" + line + "' is no interface");
    }
    final String shown = matcher.group("name");
    final int at = shown.lastIndexOf('@');
    final String[] words = matcher.group("rest").split("[\\s\\\\]+");
    return new Device(
        at > 0 ? shown.substring(0, at) : shown,
        Integer.parseInt(matcher.group("index")),
        mac(words),
        Integer.parseInt(after(words, "mtu")),
        List.of(matcher.group("flags").split(",")).contains("UP"),
        kind(matcher.group("rest")));
  }

  /** Details come after the addresses, behind a line end of their own. */
  private static String kind(String rest) {
    final String[] lines = rest.split("\\\\");
    return lines.length < 3 ? null : lines[2].strip().split("\\s", 2)[0];
  }

  private static MacAddress mac(String[] words) {
    final String text = after(words, "link/ether");
    return text == null ? null : MacAddress.parse("link/ether", text);
  }

  private static String after(String[] words, String word) {
    for (int i = 0; i + 1 < words.length; i++) {
      if (words[i].equals(word)) {
        return words[i + 1];
      }
    }
    return null;
  }
}
