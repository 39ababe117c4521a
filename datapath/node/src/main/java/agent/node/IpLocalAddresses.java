package agent.node;

import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Addresses and default routes as {@code ip} lists them. */
public final class IpLocalAddresses implements LocalAddresses {
  private final IpRunner ip;

  /** Addresses seen by this runner. */
  public IpLocalAddresses(IpRunner ip) {
    this.ip = ip;
  }

  @Override
  public List<LocalAddress> all() {
    final List<LocalAddress> addresses = new ArrayList<>();
    for (final String line : ip.show(List.of("-o", "address", "show"))) {
      final String[] words = line.trim().split("\\s+");
      if (words.length > 3 && (words[2].equals("inet") || words[2].equals("inet6"))) {
        addresses.add(address(words));
      }
    }
    return addresses;
  }

  /** {@code 2: eth0 inet 192.0.2.2/24 ...}; on a point-to-point device without the length. */
  private static LocalAddress address(String[] words) {
    final String text = words[3];
    final int slash = text.indexOf('/');
    final IpAddress address = IpAddress.parse(slash < 0 ? text : text.substring(0, slash));
    final int length =
        slash < 0 ? Prefix.of(address).length() : Integer.parseInt(text.substring(slash + 1));
    return new LocalAddress(address, length, words[1]);
  }

  @Override
  public Optional<String> defaultDevice(boolean ipv4) {
    for (final String line :
        ip.show(List.of("-o", ipv4 ? "-4" : "-6", "route", "show", "default"))) {
      final List<String> words = List.of(line.trim().split("\\s+"));
      final int dev = words.indexOf("dev");
      if (dev > 0 && dev + 1 < words.size()) {
        return Optional.of(words.get(dev + 1));
      }
    }
    return Optional.empty();
  }
}
