package agent.launcher.architecture;

import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeElement;
import java.lang.classfile.FieldModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.reflect.AccessFlag;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The fields that a class uses under the lock of its object.
 *
 * <p>A method has the lock if it is synchronized or has a synchronized block, or if it is private
 * or a lambda and all of its callers in the class have it. Constructors need none. A field is
 * guarded that is neither static nor volatile, and
 *
 * <ul>
 *   <li>is set by another method than the constructor, or is a collection of {@code java.util} that
 *       a constructor creates, or an array: where one method uses it under the lock;
 *   <li>is of another class of ours, which may change: where more methods use it under the lock
 *       than without.
 * </ul>
 */
final class LockedFields {
  private final ClassModel type;
  private final String name;
  private final Set<String> locking = new LinkedHashSet<>();
  private final Set<String> constructors = new HashSet<>();
  private final Set<String> inner = new HashSet<>();
  private final Map<String, Set<String>> callers = new HashMap<>();

  /** The methods that use a field. */
  private final Map<String, Set<String>> users = new HashMap<>();

  private final Set<String> changed = new HashSet<>();

  /** The class that a constructor has created last before it set a field. */
  private final Map<String, String> created = new HashMap<>();

  LockedFields(ClassModel type) {
    this.type = type;
    name = type.thisClass().asInternalName();
    type.methods().forEach(this::read);
  }

  private void read(MethodModel method) {
    final String key = method.methodName().stringValue() + method.methodType().stringValue();
    if (method.flags().has(AccessFlag.SYNCHRONIZED) && !method.flags().has(AccessFlag.STATIC)) {
      locking.add(key);
    }
    if (method.methodName().stringValue().endsWith("init>")) {
      constructors.add(key);
    }
    if (method.flags().has(AccessFlag.PRIVATE)) {
      inner.add(key);
    }
    final String[] last = {""};
    method.code().ifPresent(code -> code.forEach(element -> read(key, element, last)));
  }

  private void read(String method, CodeElement element, String[] last) {
    switch (element) {
      case MonitorInstruction monitor when monitor.opcode() == Opcode.MONITORENTER ->
          locking.add(method);
      case FieldInstruction field when isOwn(field) -> {
        final String used = field.name().stringValue();
        users.computeIfAbsent(used, key -> new HashSet<>()).add(method);
        if (field.opcode() == Opcode.PUTFIELD && constructors.contains(method)) {
          created.put(used, last[0]);
          last[0] = "";
        } else if (field.opcode() == Opcode.PUTFIELD) {
          changed.add(used);
        }
      }
      case InvokeInstruction call -> {
        final String owner = call.owner().asInternalName();
        last[0] = call.name().equalsString("<init>") ? owner : "";
        if (owner.equals(name)) {
          called(call.name().stringValue() + call.type().stringValue(), method);
        }
      }
      case InvokeDynamicInstruction lambda ->
          lambda.bootstrapArgs().stream()
              .filter(DirectMethodHandleDesc.class::isInstance)
              .map(DirectMethodHandleDesc.class::cast)
              .filter(handle -> handle.owner().descriptorString().equals("L" + name + ";"))
              .forEach(handle -> called(handle.methodName() + handle.lookupDescriptor(), method));
      default -> {}
    }
  }

  private boolean isOwn(FieldInstruction field) {
    return field.owner().asInternalName().equals(name)
        && (field.opcode() == Opcode.GETFIELD || field.opcode() == Opcode.PUTFIELD);
  }

  private void called(String method, String caller) {
    callers.computeIfAbsent(method, key -> new HashSet<>()).add(caller);
  }

  /** Returns the methods that take the lock. */
  Set<String> locking() {
    return locking;
  }

  /**
   * Returns the uses of guarded fields by methods without the lock, such as {@code
   * agent.ipam.Ipam.leases: find}.
   *
   * @param without a method that is taken for one without the lock
   */
  Set<String> usesWithoutLock(String without) {
    final Set<String> locked = locked(without);
    final Set<String> found = new TreeSet<>();
    for (final FieldModel field : type.fields()) {
      final String of = field.fieldName().stringValue();
      if (field.flags().has(AccessFlag.STATIC) || field.flags().has(AccessFlag.VOLATILE)) {
        continue;
      }
      final Set<String> under = new HashSet<>(users.getOrDefault(of, Set.of()));
      under.removeAll(constructors);
      final Set<String> others = new HashSet<>(under);
      under.retainAll(locked);
      others.removeAll(locked);
      final int least = changes(field) ? 1 : isOurs(field) ? Math.max(2, others.size() + 1) : 9999;
      if (under.size() >= least) {
        others.forEach(
            method ->
                found.add(
                    name.replace('/', '.')
                        + "."
                        + of
                        + ": "
                        + method.substring(0, method.indexOf('('))));
      }
    }
    return found;
  }

  /** Returns the methods that have the lock: the largest set that its definition allows. */
  private Set<String> locked(String without) {
    final Set<String> own = new HashSet<>(locking);
    own.remove(without);
    own.addAll(constructors);
    final Set<String> locked = new HashSet<>(inner);
    locked.retainAll(callers.keySet());
    locked.addAll(own);
    while (locked.removeIf(
        method -> !own.contains(method) && !locked.containsAll(callers.get(method)))) {
      continue;
    }
    return locked;
  }

  private boolean changes(FieldModel field) {
    final String of = field.fieldName().stringValue();
    final String by = created.getOrDefault(of, "");
    return changed.contains(of)
        || field.fieldType().stringValue().startsWith("[")
        || by.startsWith("java/util/") && !by.startsWith("java/util/concurrent");
  }

  private static boolean isOurs(FieldModel field) {
    final String fieldType = field.fieldType().stringValue();
    return fieldType.startsWith("Lagent/") && !fieldType.endsWith("Context;");
  }
}
