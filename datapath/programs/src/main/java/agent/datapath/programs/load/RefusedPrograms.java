package agent.datapath.programs.load;

import agent.bindings.bpf.LoadException;
import agent.conductor.Faults;
import agent.conductor.HealthBoard;
import agent.datapath.programs.compile.ProgramFile;
import java.util.EnumMap;
import java.util.Map;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The objects that the kernel has refused to load, until it takes them: the health module {@code
 * dp-programs}. Thread-safe.
 */
public final class RefusedPrograms implements HealthBoard.Probe {
  private static final Logger LOGGER = LogManager.getLogger(RefusedPrograms.class);
  private static final int LOG_LINES = 8;

  private final String release;
  private final Faults faults = new Faults("the kernel accepts every program");
  private final Map<ProgramFile, String> refused = new EnumMap<>(ProgramFile.class);

  /**
   * Creates a module without a refused object.
   *
   * @param release release of the kernel, for messages
   */
  public RefusedPrograms(String release) {
    this.release = release;
  }

  /**
   * Remembers that an object was refused.
   *
   * @param consequence what is so now, for operators
   */
  public synchronized void add(ProgramFile program, LoadException failure, String consequence) {
    final String message =
        "kernel %s rejects the programs of %s: %s: %s"
            .formatted(release, program.stem(), lastLines(failure), consequence);
    if (!message.equals(refused.put(program, message))) {
      LOGGER.error(message);
    }
    faults.failed(program.stem(), message);
  }

  /** Forgets an object, which the kernel has taken. */
  synchronized void clear(ProgramFile program) {
    refused.remove(program);
    faults.clear(program.stem());
  }

  /** Returns why an object was refused, or null where it was not. */
  public synchronized String of(ProgramFile program) {
    return refused.get(program);
  }

  private static String lastLines(LoadException failure) {
    final String[] lines = failure.log().strip().split("\n");
    final StringBuilder last = new StringBuilder(failure.getMessage());
    for (int i = Math.max(0, lines.length - LOG_LINES); i < lines.length; i++) {
      last.append('\n').append(lines[i]);
    }
    return last.toString();
  }

  @Override
  public HealthBoard.Reading read() {
    return faults.read();
  }
}
