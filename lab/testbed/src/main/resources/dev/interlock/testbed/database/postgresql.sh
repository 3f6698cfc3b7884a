# Runs PostgreSQL in the working directory, with its data in "data", which are created if they are
# missing. The directory also contains settings.conf, password (the superuser's) and users.sql.
#
#   sh -c "$(cat postgresql.sh)" NAME PROGRAM
program=$1

run=
if [ "$(id -u)" = 0 ]; then
  run="setpriv --reuid=65534 --regid=65534 --clear-groups"
  if ! $run true || ! chown 65534:65534 . password; then
    echo "PostgreSQL refuses to run as root, and this root user cannot become another user:"
    echo "run it as another user, or with the capabilities CHOWN, SETUID and SETGID"
    exit 1
  elif ! $run test -x "$program"; then
    echo "PostgreSQL refuses to run as root, and another user cannot reach $program:"
    echo "run it as another user, or make all directories above the program searchable by everybody"
    exit 1
  fi
fi

if [ ! -e data/complete ]; then
  rm -rf data
  # initdb is beside the program itself, not beside links to it.
  bin=$(dirname "$(readlink -f "$program")")
  $run "$bin/initdb" --pgdata=data --username=postgres --pwfile=password --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C --no-sync --wal-segsize=1 &&
    $run "$program" --single -D data postgres <users.sql &&
    echo "include '../settings.conf'" >>data/postgresql.conf &&
    $run touch data/complete || exit 1
fi
exec $run "$program" -D data
