package agent.dns;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.xbill.DNS.Address;

/** The servers of {@code resolv.conf} (resolv.conf(5)), read again for each use. */
public final class ResolverFile implements Supplier<List<InetSocketAddress>> {
  /** As the C library does, further servers are left out. */
  private static final int MOST_SERVERS = 3;

  private static final int PORT = 53;
  private static final String KEYWORD = "nameserver";

  private final Path file;

  /**
   * Creates the servers of a file.
   *
   * @param file it need not exist
   */
  public ResolverFile(Path file) {
    this.file = file;
  }

  /** Returns the servers in their order; the one of this machine where the file names none. */
  @Override
  public List<InetSocketAddress> get() {
    final List<InetSocketAddress> servers = new ArrayList<>();
    for (final String line : lines()) {
      final String[] words = line.strip().split("\\s+");
      if (words.length > 1 && words[0].equals(KEYWORD) && servers.size() < MOST_SERVERS) {
        add(servers, words[1]);
      }
    }
    if (servers.isEmpty()) {
      servers.add(new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT));
    }
    return servers;
  }

  /** Comments may be in any encoding. */
  private List<String> lines() {
    try {
      return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return List.of();
    }
  }

  /** Accepts addresses alone: a name would have to be looked up. */
  private static void add(List<InetSocketAddress> servers, String text) {
    try {
      if (text.indexOf(':') >= 0 || Address.isDottedQuad(text)) {
        servers.add(new InetSocketAddress(InetAddress.getByName(text), PORT));
      }
    } catch (IOException e) {
      return;
    }
  }
}
