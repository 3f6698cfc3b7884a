# Runs PostgreSQL in the working directory, with the data below "data", which are made first if there
# are none. Beside them are settings.conf, password (the superuser's) and users.sql.
#
#   sh -c "$(cat postgresql.sh)" NAME PROGRAM
program=$1

run=
if [ "$(id -u)" = 0 ]; then
  run="setpriv --reuid=65534 --regid=65534 --clear-groups"
  if ! $run true || ! chown 65534:65534 . password; then
    echo "PostgreSQL refuses to run as root, and this root may not become another user:"
    echo "run it as a user, or with the capabilities CHOWN, SETUID and SETGID"
    exit 1
  elif ! $run test -x "$program"; then
    echo "PostgreSQL refuses to run as root, and another user cannot reach $program:"
    echo "run it as a user, or have every directory above the program be searched by all"
    exit 1
  fi
fi

if [ ! -e data/complete ]; then
  rm -rf data
  # What is linked stands elsewhere without initdb beside it.
  bin=$(dirname "$(readlink -f "$program")")
  $run "$bin/initdb" --pgdata=data --username=postgres --pwfile=password --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C --no-sync --wal-segsize=1 &&
    $run "$program" --single -D data postgres <users.sql &&
    echo "include '../settings.conf'" >>data/postgresql.conf &&
    $run touch data/complete || exit 1
fi
exec $run "$program" -D data
