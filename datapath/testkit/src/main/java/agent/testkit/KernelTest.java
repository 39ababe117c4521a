package agent.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test that needs root and the BPF system call. Without them it is skipped and the reason is
 * printed; where the environment says {@code CI=true} it fails instead.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(KernelTestCondition.class)
public @interface KernelTest {
  /**
   * The first kernel that has what is tested, as "6.6". An older one leaves the test out,
   * everywhere: nothing is missing on the machine.
   */
  String since() default "";
}
