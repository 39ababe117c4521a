package agent.state;

import agent.conductor.Faults;
import agent.policy.repository.PolicyState;
import agent.policy.repository.PolicyStore;
import agent.types.OperationException;
import agent.types.Refusal;
import agent.types.UnreadableStateException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Stores the rules in {@code policy/rules.json}, whose replacement commits a change, and then a
 * copy in {@code policy/rules-copy.json}: without rules a workload accepts all traffic, so one
 * damaged file must not lose them. The copy is removed before each commit and written after it, so
 * that a copy that is there is current. While one change follows another, the copy is owed and
 * written by {@link #retry}, once for all of them. A copy that cannot be written is a fault, not a
 * failure of the change, and is written later.
 *
 * <p>Rules are loaded before the first change; all else runs on the thread of the disk. No lock is
 * held while a write waits for that thread: it could wait for the lock.
 */
final class PolicyFile implements PolicyStore {
  private static final Logger LOGGER = LogManager.getLogger(PolicyFile.class);
  private static final String NAME = "rules";
  private static final String COPY = "rules-copy";

  /** The revision is the first member, so that many damaged documents still show it. */
  private static final Pattern REVISION =
      Pattern.compile("\\A[^\\n]*\\n\\{\"revision\":(\\d{1,18}),");

  /** A change that follows another one within this time leaves its copy to {@link #retry}. */
  private static final long QUIET_NS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final int REVISION_END = 2 * StateFile.LONGEST_HEADER_BYTES;

  private final StateFolder<PolicyState> folder;
  private final Faults faults;
  private final LongSupplier nanoClock;
  private volatile PolicyState uncopied;
  private long savedAtNs;

  PolicyFile(StateFolder<PolicyState> folder, Faults faults) {
    this(folder, faults, System::nanoTime);
  }

  PolicyFile(StateFolder<PolicyState> folder, Faults faults, LongSupplier nanoClock) {
    this.folder = folder;
    this.faults = faults;
    this.nanoClock = nanoClock;
    savedAtNs = nanoClock.getAsLong() - QUIET_NS;
  }

  /**
   * One of the two files.
   *
   * @param state its content, null where it is missing or cannot be read
   * @param problem why it cannot be read, or null
   * @param isNewer whether a newer release wrote it
   */
  private record Found(PolicyState state, String problem, boolean isNewer) {}

  @Override
  public Optional<PolicyState> load(Consumer<PolicyState> check) {
    final Found main = find(NAME, check);
    final Found copy = main.state != null && folder.isSame(NAME, COPY) ? main : find(COPY, check);
    if (main.isNewer || copy.isNewer) {
      throw unreadable(main.isNewer ? main.problem : "the copy: " + copy.problem);
    }
    if (main.state != null) {
      if (!main.state.equals(copy.state)) {
        uncopied = main.state;
        copy();
      }
      return Optional.of(main.state);
    }
    if (copy.state == null) {
      if (main.problem == null && copy.problem == null) {
        return Optional.empty();
      }
      throw unreadable(
          (main.problem == null ? "it is missing" : main.problem)
              + "; the copy: "
              + (copy.problem == null ? "it is missing" : copy.problem));
    }
    final long revision = shownRevision();
    if (revision > copy.state.revision()) {
      final String older =
          "the copy is older, revision %d and not %d".formatted(copy.state.revision(), revision);
      folder.distrust(COPY, older);
      throw unreadable(main.problem + "; " + older);
    }
    repair(copy.state);
    return Optional.of(copy.state);
  }

  private Found find(String name, Consumer<PolicyState> check) {
    try {
      final Optional<PolicyState> state = folder.read(name);
      state.ifPresent(check);
      return new Found(state.orElse(null), null, false);
    } catch (DamagedStateException e) {
      return new Found(null, e.getMessage(), e.isNewer());
    } catch (Refusal refusal) {
      folder.distrust(name, refusal.getMessage());
      return new Found(null, refusal.getMessage(), false);
    }
  }

  /** Returns the revision that the first file shows, whatever follows; 0 where it shows none. */
  private long shownRevision() {
    final byte[] raw = folder.raw(NAME);
    final Matcher revision =
        REVISION.matcher(
            new String(raw, 0, Math.min(raw.length, REVISION_END), StandardCharsets.ISO_8859_1));
    return revision.find() ? Long.parseLong(revision.group(1)) : 0;
  }

  /** Writes the first file from the copy, which stays meanwhile. */
  private void repair(PolicyState state) {
    LOGGER.warn("policy: the rules were read from the copy, revision {}", state.revision());
    try {
      folder.write(NAME, state);
    } catch (OperationException e) {
      LOGGER.warn("policy: the copy remains the only readable file: {}", e.getMessage());
    }
  }

  private UnreadableStateException unreadable(String problem) {
    final String message =
        ("policy: the rules in %s cannot be read (%s). Workloads keep the policy that the kernel"
                + " enforces, new ones are closed, and rules cannot be changed. Restore the file"
                + " and start the agent again, or give these rules up: delete all rules, then"
                + " import them anew, or import all of them with replace; the file is then kept as"
                + " *.corrupt-<n>")
            .formatted(folder.path(NAME), problem);
    faults.failed(folder.path(NAME).toString(), message);
    return new UnreadableStateException(message);
  }

  @Override
  public void save(PolicyState state) {
    folder.write(NAME, state, () -> folder.delete(COPY), () -> saved(state));
  }

  private void saved(PolicyState state) {
    faults.clear(folder.path(NAME).toString());
    uncopied = state;
    final long nowNs = nanoClock.getAsLong();
    if (nowNs - savedAtNs >= QUIET_NS) {
      copy();
    }
    savedAtNs = nowNs;
  }

  /** Writes the copy that is owed; where that fails, the folder has the fault. */
  private void copy() {
    try {
      folder.write(COPY, uncopied);
      uncopied = null;
    } catch (OperationException e) {
      LOGGER.warn("policy: the rules are stored; writing their copy failed and is retried");
    }
  }

  /** Writes the copy where it is owed and the folder can be written. */
  void retry() {
    if (uncopied != null && !folder.isFailing()) {
      copy();
    }
  }
}
