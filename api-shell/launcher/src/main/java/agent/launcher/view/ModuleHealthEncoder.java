package agent.launcher.view;

import agent.conductor.ModuleHealth;
import agent.contract.WireFormat;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.contract.daemon.ModuleHealthModel;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Converts the health of the modules to the records of the contract. */
final class ModuleHealthEncoder {
  private ModuleHealthEncoder() {}

  /** Converts all modules, or in brief those whose level is not OK. */
  static ModuleHealthModel encode(List<ModuleHealth> modules, boolean brief) {
    return new ModuleHealthModel(
        modules.stream()
            .filter(module -> !brief || module.level() != ModuleHealth.Level.OK)
            .map(ModuleHealthEncoder::encode)
            .toList());
  }

  private static ModuleHealthModel.Module encode(ModuleHealth module) {
    return new ModuleHealthModel.Module(
        timestamp(module.lastOkMs()),
        timestamp(module.lastUpdatedMs()),
        level(module.level()),
        module.message(),
        module.moduleId());
  }

  private static String timestamp(long epochMs) {
    return epochMs == 0 ? null : WireFormat.timestamp(epochMs);
  }

  private static String level(ModuleHealth.Level level) {
    return switch (level) {
      case OK -> "OK";
      case DEGRADED -> "Degraded";
      case STOPPED -> "Stopped";
      case UNKNOWN -> "Unknown";
    };
  }

  /** Returns the state of the module that is worst, with what each module says that is not OK. */
  static ComponentStatus overall(List<ModuleHealth> modules) {
    final List<ModuleHealth> bad =
        Stream.of(ModuleHealth.Level.STOPPED, ModuleHealth.Level.DEGRADED)
            .flatMap(level -> modules.stream().filter(module -> module.level() == level))
            .toList();
    if (bad.isEmpty()) {
      return new ComponentStatus("all " + modules.size() + " modules are OK", "Ok");
    }
    return new ComponentStatus(
        bad.stream()
            .map(module -> module.moduleId() + ": " + module.message())
            .collect(Collectors.joining("; ")),
        bad.getFirst().level() == ModuleHealth.Level.STOPPED ? "Failure" : "Warning");
  }
}
