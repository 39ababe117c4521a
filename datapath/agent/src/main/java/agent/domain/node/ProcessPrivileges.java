package agent.domain.node;

import agent.types.OperationException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * What the kernel lets this process do, as {@code /proc/self/status} tells it (capabilities(7)).
 */
public final class ProcessPrivileges {
  private static final Path STATUS = Path.of("/proc/self/status");

  /** By their numbers: {@code linux/capability.h}. */
  private static final String[] NAMES = {
    "chown",
    "dac_override",
    "dac_read_search",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "linux_immutable",
    "net_bind_service",
    "net_broadcast",
    "net_admin",
    "net_raw",
    "ipc_lock",
    "ipc_owner",
    "sys_module",
    "sys_rawio",
    "sys_chroot",
    "sys_ptrace",
    "sys_pacct",
    "sys_admin",
    "sys_boot",
    "sys_nice",
    "sys_resource",
    "sys_time",
    "sys_tty_config",
    "mknod",
    "lease",
    "audit_write",
    "audit_control",
    "setfcap",
    "mac_override",
    "mac_admin",
    "syslog",
    "wake_alarm",
    "block_suspend",
    "audit_read",
    "perfmon",
    "bpf",
    "checkpoint_restore"
  };

  private ProcessPrivileges() {}

  /** Returns one line: the effective capabilities, and whether a program may gain others. */
  public static String text() {
    try {
      return text(Files.readAllLines(STATUS));
    } catch (IOException failure) {
      return STATUS + ": " + failure.getMessage();
    }
  }

  /**
   * Returns one line about another process: its user, its capabilities and whether a program may
   * gain others.
   */
  public static String of(long pid) {
    try {
      final List<String> status = Files.readAllLines(Path.of("/proc/" + pid + "/status"));
      return "user %s; %s".formatted(value(status, "Uid").split("\\s+")[0], text(status));
    } catch (IOException failure) {
      return failure.getMessage();
    }
  }

  /**
   * Checks that no thread of this process has another user or a capability, in any set that it
   * could use.
   *
   * @throws OperationException naming the thread
   */
  public static void checkNone(int user) {
    try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
      for (final Path thread : threads.toList()) {
        final List<String> status = status(thread);
        if (!status.isEmpty() && !hasNone(status, Integer.toString(user))) {
          throw new OperationException(thread + " has rights: " + text(status));
        }
      }
    } catch (IOException failure) {
      throw new OperationException("threads: " + failure.getMessage(), failure);
    }
  }

  /** Returns nothing for a thread that has ended, such as one of a compiler. */
  private static List<String> status(Path thread) throws IOException {
    try {
      return Files.readAllLines(thread.resolve("status"));
    } catch (IOException failure) {
      if (Files.exists(thread)) {
        throw failure;
      }
      return List.of();
    }
  }

  private static boolean hasNone(List<String> status, String user) {
    return Stream.of("Uid", "Gid")
            .flatMap(name -> Stream.of(value(status, name).split("\\s+")))
            .allMatch(user::equals)
        && Stream.of("CapInh", "CapPrm", "CapEff", "CapAmb")
            .allMatch(set -> Long.parseUnsignedLong(value(status, set), 16) == 0)
        && value(status, "Groups").isEmpty();
  }

  static String text(List<String> status) {
    final long effective = Long.parseUnsignedLong(value(status, "CapEff"), 16);
    final List<String> names = new ArrayList<>();
    for (int i = 0; i < Long.SIZE; i++) {
      if ((effective >>> i & 1) != 0) {
        names.add(i < NAMES.length ? NAMES[i] : "capability_" + i);
      }
    }
    return "capabilities %s; no_new_privs %s"
        .formatted(
            names.isEmpty() ? "none" : String.join(" ", names),
            value(status, "NoNewPrivs").equals("1") ? "set" : "not set");
  }

  private static String value(List<String> status, String name) {
    final String prefix = name.toLowerCase(Locale.ROOT) + ":";
    return status.stream()
        .filter(line -> line.toLowerCase(Locale.ROOT).startsWith(prefix))
        .map(line -> line.substring(prefix.length()).strip())
        .findFirst()
        .orElse("0");
  }
}
