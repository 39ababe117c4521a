package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResolverFileTest {
  @TempDir private Path directory;

  private List<String> servers(String text) throws IOException {
    final Path file = directory.resolve("resolv.conf");
    Files.writeString(file, text);
    return new ResolverFile(file)
        .get().stream()
            .map(one -> one.getAddress().getHostAddress() + " " + one.getPort())
            .toList();
  }

  @Test
  void shouldReadTheServersInTheirOrder() throws IOException {
    assertEquals(
        List.of("192.0.2.53 53", "2001:db8:0:0:0:0:0:53 53"),
        servers(
            "# comment\nsearch example.com\nnameserver 192.0.2.53\n\tnameserver  2001:db8::53\n"));
  }

  @Test
  void shouldTakeThreeServersAndOnlyAddresses() throws IOException {
    assertEquals(
        List.of("192.0.2.1 53", "192.0.2.2 53", "192.0.2.3 53"),
        servers(
            "nameserver\nnameserver a.b\nnameserver 1:2:x\nnameserver 192.0.2.1\n"
                + "nameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n"));
  }

  @Test
  void shouldAskThisMachineWhereNoServerIsNamed() throws IOException {
    assertEquals(List.of("127.0.0.1 53"), servers(""));
    assertEquals(
        1, new ResolverFile(directory.resolve("missing")).get().size(), "as the C library does");
  }

  @Test
  void shouldReadServersBesideACommentInAnotherEncoding() throws IOException {
    final Path file = directory.resolve("resolv.conf");
    Files.write(file, "# B\u00fcro\nnameserver ::1\n".getBytes(StandardCharsets.ISO_8859_1));
    assertEquals(
        "0:0:0:0:0:0:0:1", new ResolverFile(file).get().getFirst().getAddress().getHostAddress());
  }

  @Test
  void shouldReadAFileThatChangesAgain() throws IOException {
    final Path file = directory.resolve("resolv.conf");
    final ResolverFile servers = new ResolverFile(file);
    for (final String address : List.of("192.0.2.1", "192.0.2.2")) {
      Files.writeString(file, "nameserver " + address);
      assertEquals(address, servers.get().getFirst().getAddress().getHostAddress());
    }
  }
}
