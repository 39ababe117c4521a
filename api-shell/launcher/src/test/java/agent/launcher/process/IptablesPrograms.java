package agent.launcher.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/** A folder with the tools of iptables alone, so that nft is not found. */
final class IptablesPrograms {
  private IptablesPrograms() {}

  /**
   * Offers the tools of iptables.
   *
   * @param folder where they are put
   * @param variant what follows the name of the family's tool in that of the variant
   */
  static void offer(Path folder, String variant) throws IOException {
    for (final String tool : List.of("iptables", "ip6tables")) {
      offer(folder, tool, tool + variant);
      offer(folder, tool + "-restore", tool + variant + "-restore");
    }
  }

  private static void offer(Path folder, String name, String program) throws IOException {
    final Path found =
        List.of(System.getenv("PATH").split(":")).stream()
            .map(directory -> Path.of(directory, program))
            .filter(Files::isExecutable)
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("there is no " + program));
    final Path script =
        Files.writeString(folder.resolve(name), "#!/bin/sh\nexec %s \"$@\"\n".formatted(found));
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
  }
}
